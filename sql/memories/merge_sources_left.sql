-- Which memories come back when these are erased? A merged memory that goes because one of its sources is erased gives
-- its other sources back: they were forgotten only because it stood for them. Sources that are merged themselves, and
-- stay, come back as they are. Facts that rested on them before the merge rest on them again, as far as the change feed
-- still knows.
create or replace function loci_internal.merge_sources_left(p_namespace_id integer, p_ids uuid[]) returns uuid[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_left  uuid[];
    v_moved integer;
begin
    with recursive erased as materialized (
        select m.lineage_id, m.status from loci_data.memories m where m.namespace_id = p_namespace_id
            and m.id = any (p_ids)
    ), walk(id) as (
        select e.lineage_id from erased e where e.status = 'active'
        union
        select l.target_id from walk w
        join loci_data.memory_links l on l.namespace_id = p_namespace_id and l.source_id = w.id
             and l.type = 'merged_from'
        where w.id in (select e.lineage_id from erased e)
    )
    select array_agg(m.id order by m.id) into v_left
    from walk w
    cross join lateral (select o.id, o.status, o.valid_to from loci_data.memories o
                        where o.namespace_id = p_namespace_id and o.lineage_id = w.id
                        order by o.version desc limit 1) m
    where m.status = 'forgotten' and m.id <> all (p_ids);
    if v_left is null then
        return '{}';
    end if;
    for v_moved in 1 .. 10 loop  -- merges of merges, back one by one
        update loci_data.attributes a set memory_id = c.before, updated_at = greatest(a.updated_at, clock_timestamp())
        from (select distinct on (x.subject_id) x.subject_id, (x.before ->> 'memory_id')::uuid as before,
              (x.after ->> 'memory_id')::uuid as after
              from (select o.subject_id, o.before, o.after, true as late, o.id as nth from loci_data.outbox o
                    where o.namespace_id = p_namespace_id and o.kind = 'attribute' and o.before ? 'memory_id'
                    union all
                    select h.subject_id, h.before, h.after, false, h.position from loci_data.attributes t
                    join loci_data.changes h on h.namespace_id = p_namespace_id and h.subject_id = t.id
                         and h.kind = 'attribute' and h.before ? 'memory_id'
                    where t.namespace_id = p_namespace_id and t.memory_id = any (p_ids)) x
              where (x.after ->> 'memory_id')::uuid = any (p_ids)
              order by x.subject_id, x.late desc, x.nth desc) c
        where a.namespace_id = p_namespace_id and a.id = c.subject_id and a.memory_id = c.after
          and exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = c.before);
        exit when not found;
    end loop;
    return v_left;
end $$;
comment on function loci_internal.merge_sources_left(integer, uuid[]) is
    'Sources of erased merges that are not erased themselves.';
