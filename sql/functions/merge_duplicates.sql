-- Merge entities whose names differ only in case, accents, spaces and joining marks (row G12; see duplicate_entities), at most p_limit, the most
-- mentioned first. p_dry_run: only say which. basis name: merged, with merge_id, which undoes it. basis meaning: only ever proposed, in a dry run;
-- of the 200 most mentioned entities, those whose vectors are nearly the same (cosine from 0.95 on), of one type, with the same digits.
-- One whose names would be too many is left out. Cost: reads the namespace's entities, then what each merge costs.
-- Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002, 22023, 40001.
create or replace function loci.merge_duplicates(p_namespace text, p_dry_run boolean default true, p_limit integer default 100)
returns table (merge_id uuid, kept_id uuid, kept text, merged_id uuid, merged text, basis text, score double precision)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns   integer := loci.authorize(p_namespace, 'writer');
    v_pair record;
begin
    perform loci.check_limit(p_limit);
    if not p_dry_run then
        perform loci.lock_merges(v_ns);
    end if;
    basis := 'name';
    score := 1;
    for v_pair in
        select d.*, k.name as kept, g.name as merged
        from loci.duplicate_entities(v_ns, p_limit) d
        join loci_data.entities k on k.namespace_id = v_ns and k.id = d.kept_id
        join loci_data.entities g on g.namespace_id = v_ns and g.id = d.merged_id
        order by d.mentions desc, d.merged_id
    loop
        continue when (select cardinality(k.aliases) + cardinality(g.aliases) >= 100 from loci_data.entities k, loci_data.entities g
                       where k.namespace_id = v_ns and k.id = v_pair.kept_id and g.namespace_id = v_ns and g.id = v_pair.merged_id);
        kept_id := v_pair.kept_id;
        kept := v_pair.kept;
        merged_id := v_pair.merged_id;
        merged := v_pair.merged;
        merge_id := case when not p_dry_run then loci.join_entities(v_ns, kept_id, merged_id, 'the names differ in spelling only', true) end;
        return next;
    end loop;
    if p_dry_run then
        return query select null::uuid, a.kept_id, a.kept, a.merged_id, a.merged, 'meaning', a.score from loci.alike_entities(v_ns, p_limit) a;
    end if;
end $$;
comment on function loci.merge_duplicates(text, boolean, integer) is 'Merge entities that are one under several spellings, or say which (dry run, with others that mean the same). Errors: 42501, P0002, 22023, 40001.';
