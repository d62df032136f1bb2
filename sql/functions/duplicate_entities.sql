-- Which entities are one under several spellings? Those whose names have the same name_key and whose types agree: the same, or one says less (is_vaguer);
-- where two types stand under one key, those of each type only. Each with the one to keep: pinned, most mentioned, oldest. Never two pinned ones, and
-- no pair that was split, or merged and given back. Set-based by key; reads the namespace's entities (about 20 µs each).
-- Called by merge_duplicates; internal.
create or replace function loci.duplicate_entities(p_namespace_id integer, p_limit integer)
returns table (kept_id uuid, merged_id uuid, mentions integer)
language sql stable set search_path = ''
as $$
    with keyed as materialized (
        select e.id, e.type, e.pinned, e.pinned_at, e.mentions, e.created_at, loci.name_key(e.name) as key, e.type in ('unknown', 'extracted') as vague
        from loci_data.entities e where e.namespace_id = p_namespace_id and e.merged_into is null
    ), several as (
        select k.key, count(distinct k.type) filter (where not k.vague) as types from keyed k where k.key is not null group by k.key having count(*) > 1
    ), ranked as (
        select k.*, first_value(k.id) over place as kept_id, row_number() over place as nth
        from keyed k join several s using (key)
        where s.types <= 1 or not k.vague
        window place as (partition by k.key, case when s.types > 1 then k.type end
                         order by k.pinned desc, k.pinned_at, k.mentions desc, k.created_at, k.id)
    )
    select r.kept_id, r.id, r.mentions from ranked r
    where r.nth > 1 and not r.pinned and not exists (
          select from loci_data.entity_merges m
          where m.namespace_id = p_namespace_id and (m.kind = 'split' or m.undone_at is not null)
            and (m.kept_id, m.merged_id) in ((r.kept_id, r.id), (r.id, r.kept_id)))
    order by r.mentions desc, r.id limit p_limit
$$;
comment on function loci.duplicate_entities(integer, integer) is 'Entities whose names differ in spelling only, with the one to keep. Internal.';
