-- What is a conversation about? See resolve_focal_entities, which finds them. Where nothing but a session key
-- is left
-- to go by, it is a label: a row without an id, named after it. source names what gave an entity: checkpoint, project,
-- query, session_key, or pinned. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci.focal_entities(
    p_namespace text, p_query text default null, p_project_path text default null, p_checkpoint uuid[] default null,
    p_session_key text default null, p_known_at timestamptz default null)
returns table (id uuid, name text, type text, pinned boolean, source text, ordinal bigint)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    with focal as materialized (
        select f.* from loci_internal.resolve_focal_entities(v_namespace_id, p_query, p_project_path, p_checkpoint,
                                                             coalesce(p_known_at, 'infinity')) f
    ), named as materialized (  -- the ids at once, so that each page of the key is read once
        select e.id, e.name, e.type from loci_data.entities e
        where e.namespace_id = v_namespace_id and e.id = any (array(select f.id from focal f))
    )
    select f.id, n.name, n.type, f.pinned, f.source, f.ordinal from focal f join named n on n.id = f.id
    union all
    select null, p_session_key, null, false, 'session_key', 1 + (select count(*) from focal)
    where p_session_key is not null and not exists (select from focal f where f.source <> 'pinned')
    order by 6;
end $$;
comment on function loci.focal_entities(text, text, text, uuid[], text, timestamptz) is
    'Entities that a conversation is about, and what says so: checkpoint, project, query or session_key; pinned ones '
    'always. p_known_at: also those that were removed since. Errors: 42501, P0002.';
