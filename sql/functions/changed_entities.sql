-- Which entities of an operation say something of themselves that is neither what it left nor what it found, were merged into others, or were
-- removed or brought back by others since? Those that it wrote are no matter: they go where nothing else rests on them, and stay else.
-- A probe of the primary key an entity. Called by changed_since; internal.
create or replace function loci.changed_entities(p_namespace_id integer, p_operation uuid) returns setof uuid
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select n.subject_id
    from loci.net_changes(p_namespace_id, p_operation, 'entity') n
    cross join lateral (select x as entity from loci_data.entities x where x.namespace_id = p_namespace_id and x.id = n.subject_id limit 1) e
    cross join lateral jsonb_populate_record(e.entity, n.after) a
    cross join lateral jsonb_populate_record(e.entity, n.before) b
    where not n.created and n.after is not null
      and (a.name, a.type, a.aliases, a.description, a.metadata, a.pinned_at, a.merged_into) is distinct from
          ((e.entity).name, (e.entity).type, (e.entity).aliases, (e.entity).description, (e.entity).metadata, (e.entity).pinned_at,
           case when n.after ? 'merged_into' or (e.entity).merged_into is null then (e.entity).merged_into else n.subject_id end)
      and (b.name, b.type, b.aliases, b.description, b.metadata, b.pinned_at, b.merged_into) is distinct from
          ((e.entity).name, (e.entity).type, (e.entity).aliases, (e.entity).description, (e.entity).metadata, (e.entity).pinned_at,
           (e.entity).merged_into)
$$;
comment on function loci.changed_entities(integer, uuid) is 'Entities of an operation that were changed since. Internal.';
