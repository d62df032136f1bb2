-- Supersession of edges of single-valued types.

-- Note which edge ended which (p_older, p_newer, p_ended_at, of fold_spells over p_ids), as decisions that can be
-- listed and undone: what is new is applied, what stands already stays, and what stood and is so no longer, because
-- evidence came or went, is dismissed, until the evidence comes back. An edge may have been recorded anew since
-- (edge_among): it is the same then. Returns those that are new or stand again. Indexes supersessions_ended,
-- supersessions_older_edge.
create or replace function loci_internal.record_edge_supersessions(
    p_namespace_id integer, p_ids uuid[], p_older uuid[], p_newer uuid[], p_ended_at timestamptz[], p_at timestamptz)
returns uuid[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_made uuid[];
begin
    update loci_data.supersessions s set status = 'dismissed', decided_at = p_at, decided_by = loci.current_agent()
    where s.namespace_id = p_namespace_id and s.older_edge_id = any (p_ids) and s.status = 'applied'
      and not exists (select from unnest(p_older, p_newer, p_ended_at) d(older, newer, ended_at)
                      where d.older = s.older_edge_id and d.ended_at = s.ended_at
                        and d.newer = loci_internal.edge_among(p_namespace_id, s.newer_edge_id, p_ids));
    with missing as materialized (
        select d.* from unnest(p_older, p_newer, p_ended_at) d(older, newer, ended_at)
        where not exists (
            select from loci_data.supersessions s
            where s.namespace_id = p_namespace_id and s.ended_at = d.ended_at and s.status = 'applied'
              and d.older = loci_internal.edge_among(p_namespace_id, s.older_edge_id, p_ids)
              and d.newer = loci_internal.edge_among(p_namespace_id, s.newer_edge_id, p_ids))
    ), again as (
        update loci_data.supersessions s set status = 'applied', decided_at = p_at, decided_by = loci.current_agent()
        from missing d
        where s.namespace_id = p_namespace_id and s.older_edge_id = any (p_ids) and s.older_edge_id = d.older
          and s.newer_edge_id = d.newer and s.ended_at = d.ended_at and s.status = 'dismissed'
        returning s.id, s.older_edge_id, s.newer_edge_id, s.ended_at
    ), made as (
        insert into loci_data.supersessions (namespace_id, id, older_edge_id, newer_edge_id, ended_at, signal,
                                             confidence, origin, status, created_at, decided_at, decided_by)
        select p_namespace_id, loci_api.uuid7(), d.older, d.newer, d.ended_at, 'single_valued', 1, 'inline', 'applied',
               p_at, p_at, loci.current_agent()
        from (select * from missing m order by m.ended_at, m.older, m.newer) d
        where not exists (select from again g where (g.older_edge_id, g.newer_edge_id, g.ended_at)
                                                    = (d.older, d.newer, d.ended_at))
        returning id
    )
    select coalesce(array_agg(m.id order by m.id), '{}') into v_made
    from (select m.id from made m union select g.id from again g) m;
    return v_made;
end $$;
comment on function loci_internal.record_edge_supersessions(integer, uuid[], uuid[], uuid[], timestamptz[],
                                                            timestamptz) is
    'Note which edges ended which, and what of that is so no longer; the new ones.';

-- Which of these edges hold beside each other, because it was undone that one ended the other? By the ids that they
-- have now; by what was decided until p_known_at. Index supersessions_beside: next to nothing where nothing was undone.
create or replace function loci_internal.edges_beside(p_namespace_id integer, p_ids uuid[],
                                                      p_known_at timestamptz default 'infinity')
returns table (older_id uuid, newer_id uuid)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select distinct c.older_id, c.newer_id
    from loci_data.supersessions s
    cross join lateral (select loci_internal.edge_among(p_namespace_id, s.older_edge_id, p_ids) as older_id,
                               loci_internal.edge_among(p_namespace_id, s.newer_edge_id, p_ids) as newer_id offset 0) c
    where s.namespace_id = p_namespace_id and s.ended_at is not null and s.status = 'undone'
      and s.decided_at <= p_known_at
      and exists (select from loci_data.edges a join loci_data.edges b on b.namespace_id = a.namespace_id
                      and b.id = s.older_edge_id and b.type = a.type
                  where a.namespace_id = p_namespace_id and a.id = p_ids[1])
      and num_nulls(c.older_id, c.newer_id) = 0
$$;
comment on function loci_internal.edges_beside(integer, uuid[], timestamptz) is
    'Pairs of edges that hold beside each other, because a supersession was undone.';

-- Which of these edges is this one by now? Itself, or the one that was recorded anew with some of its evidence; null:
-- none. Index edge_observations_edge.
create or replace function loci_internal.edge_among(p_namespace_id integer, p_id uuid, p_ids uuid[]) returns uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select case when p_id = any (p_ids) then p_id else (
        select o.edge_id
        from loci_data.edge_observations a
        join loci_data.edge_observations o on o.namespace_id = p_namespace_id and o.edge_id = any (p_ids)
             and coalesce(o.origin_id, o.id) = coalesce(a.origin_id, a.id)
        where a.namespace_id = p_namespace_id and a.edge_id = p_id order by o.edge_id limit 1) end
$$;
comment on function loci_internal.edge_among(integer, uuid, uuid[]) is
    'Which of some edges an edge is by now; null if none.';
