-- Links that reflect should make: those that a model proposes between orphans of the page, and the rules' (plan_links) between other pairs. A pair that
-- is linked, in either direction, or whose link was taken back gets none. Called by reflect; internal.
create or replace function loci.given_links(
    p_namespace_id integer, p_namespace text, p_orphans loci.orphan[], p_places loci.planned_place[], p_settings jsonb, p_plan jsonb)
returns table (source_id uuid, target_id uuid, type text, strength double precision)
language plpgsql stable set search_path = '' set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    return query
    with given as materialized (
        select distinct on (l.source_id, l.target_id, l.type) l.source_id, l.target_id, l.type, l.strength
        from jsonb_to_recordset(coalesce(p_plan -> 'links', '[]')) l(source_id uuid, target_id uuid, type text, strength double precision)
        join unnest(p_orphans) s on s.id = l.source_id join unnest(p_orphans) t on t.id = l.target_id
        where s.node_id <> t.node_id and not exists (
            select from loci_data.memory_links k where k.namespace_id = p_namespace_id
              and (k.source_id, k.target_id) in ((s.node_id, t.node_id), (t.node_id, s.node_id)))
        order by l.source_id, l.target_id, l.type, l.strength desc
    )
    select g.* from given g
    union all
    select r.source_id, r.target_id, 'related_to', r.strength
    from loci.plan_links(p_namespace_id, p_namespace, p_orphans, p_places, p_settings) r
    where not exists (select from given g where (g.source_id, g.target_id) in ((r.source_id, r.target_id), (r.target_id, r.source_id)));
end $$;
comment on function loci.given_links(integer, text, loci.orphan[], loci.planned_place[], jsonb, jsonb) is 'Links between orphans that a model proposes, and those of the rules. Internal.';
