-- Undo a split: a merge of the two, which can be undone. The whole gets those names of the part as aliases that it
-- had before the split; with p_keep_names the others too. Returns the merge, and the aliases that it has by
-- this.
create or replace function loci_internal.undo_split(p_namespace_id integer, p_split loci_data.entity_merges,
                                                    p_keep_names boolean, out merge_id uuid, out aliases text[])
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_had    text[];  -- before the split
    v_before text[];  -- until now
    v_at     timestamptz;
begin
    select e.aliases into v_before from loci_data.entities e
    where e.namespace_id = p_namespace_id and e.id = p_split.kept_id;
    select b.aliases into v_had from loci_data.entity_beliefs b
    where b.namespace_id = p_namespace_id and b.entity_id = p_split.kept_id and b.believed_to >= p_split.decided_at
    order by b.believed_to limit 1;
    merge_id := loci_internal.apply_entity_merge(p_namespace_id, p_split.kept_id, p_split.merged_id,
                                                 format('undoes the split %s', p_split.id), false);
    if not p_keep_names then
        v_at := loci_internal.lock_entities(p_namespace_id, array[p_split.kept_id]);
        update loci_data.entities e
        set aliases = array(select a.alias from unnest(e.aliases) with ordinality a(alias, place)
                            where loci.canonical_name(a.alias) = any (array(
                                  select loci.canonical_name(k) from unnest(v_before || v_had) k))
                            order by a.place),
            updated_at = v_at
        where e.namespace_id = p_namespace_id and e.id = p_split.kept_id;
    end if;
    aliases := array(select a.alias from loci_data.entities e
                     cross join lateral unnest(e.aliases) with ordinality a(alias, place)
                     where e.namespace_id = p_namespace_id and e.id = p_split.kept_id
                       and loci.canonical_name(a.alias) <> all (array(select loci.canonical_name(k)
                                                                      from unnest(v_before) k))
                     order by a.place);
end $$;
comment on function loci_internal.undo_split(integer, loci_data.entity_merges, boolean) is
    'Join a split entity again; the merge, and the aliases that the whole has by it.';
