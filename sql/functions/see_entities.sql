-- Something said of these entities dates from these moments: lower first_seen_at where that is earlier. Parallel arrays. Rows are
-- locked in order of canonical_name, like everywhere. Called by note_names; internal.
create or replace function loci.see_entities(p_namespace_id integer, p_ids uuid[], p_seen_at timestamptz[], p_at timestamptz) returns void
language sql volatile
as $$
    with seen as materialized (
        select u.id, min(u.seen_at) as seen_at from unnest(p_ids, p_seen_at) u(id, seen_at) where u.seen_at is not null group by u.id
    ), locked as materialized (
        select e.id from loci_data.entities e join seen s on s.id = e.id
        where e.namespace_id = p_namespace_id and e.id = any(array(select s.id from seen s)) and s.seen_at < e.first_seen_at
        order by e.canonical_name
        for no key update of e
    )
    update loci_data.entities e set first_seen_at = s.seen_at, updated_at = greatest(e.updated_at, p_at)
    from seen s
    where e.namespace_id = p_namespace_id and e.id = any(array(select l.id from locked l)) and e.id = s.id and s.seen_at < e.first_seen_at
$$;
comment on function loci.see_entities(integer, uuid[], timestamptz[], timestamptz) is 'Lower first_seen_at of entities to when something said of them dates from. Internal.';
