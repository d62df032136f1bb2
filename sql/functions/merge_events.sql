-- Which entities were merged into this one, given back, or split off it, and when? Indexes entity_merges_kept and entity_merges_merged.
-- Called by entity_timeline; internal.
create or replace function loci.merge_events(p_namespace_id integer, p_id uuid)
returns table (at timestamptz, recorded_at timestamptz, kind text, event text, id uuid, key text, detail jsonb)
language sql stable parallel safe
as $$
    select w.at, w.at, 'entity', w.event, p_id, w.event || m.id,
           jsonb_build_object('merge_id', m.id, 'entity_id', o.id, 'name', o.name, 'reason', m.reason, 'automatic', m.automatic)
    from (select k.* from loci_data.entity_merges k where k.namespace_id = p_namespace_id and k.kept_id = p_id
          union all
          select g.* from loci_data.entity_merges g where g.namespace_id = p_namespace_id and g.merged_id = p_id) m
    join loci_data.entities o on o.namespace_id = p_namespace_id and o.id = case when m.kept_id = p_id then m.merged_id else m.kept_id end
    cross join lateral (
        select m.decided_at, case m.kind when 'split' then 'split' else 'merged' end
        union all select m.undone_at, 'parted' where m.undone_at is not null and m.kind = 'merge') w(at, event)
$$;
comment on function loci.merge_events(integer, uuid) is 'Merges and splits of an entity as dated events. Internal.';
