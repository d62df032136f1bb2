-- What has changed since? Changes after a cursor, oldest first, of the namespaces named (null: the caller's default
-- one; {*}: all that the caller may read), of some kinds or of all. A memory's content and a turn's are joined now:
-- null once they were erased. Later calls go on after the cursor of the last one. position counts the changes of one
-- namespace; over several the order is that of the commits. A page ends early at 4 MiB; `more` says that one ended.
-- Index only: changes_place, or changes_kind; one range for each namespace and kind, merged by place, then the rows of
-- the page. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (after, kind,
-- limit), 24000 (after: swept, or its namespace is gone).
create or replace function loci.list_changes(
    p_namespaces text[] default null, p_after text default null, p_kinds text[] default null,
    p_limit integer default 100)
returns table ("position" bigint, "cursor" text, namespace text, kind text, action text, subject_id uuid,
               operation_id uuid, content text, before jsonb, after jsonb, changed_at timestamptz, agent_id uuid,
               agent text, via text, more boolean)
language sql stable security definer set search_path = ''
as $$
    select c.position, c.cursor, c.namespace, c.kind, c.action, c.subject_id, c.operation_id, c.content, c.before,
           c.after, c.changed_at, c.agent_id, c.agent, c.via, c.more
    from loci_api.read_changes(p_namespaces, p_after, null, p_kinds, p_limit) c
    order by c.place
$$;
comment on function loci.list_changes(text[], text, text[], integer) is
    'The change feed: what has changed after a cursor, oldest first, by namespace and kind. Errors: 42501, P0002, '
    '22023, 24000.';

-- Kinds of things in the change feed.
create or replace function loci_internal.change_kinds() returns text[]
language sql immutable parallel safe
return array['memory', 'placement', 'link', 'entity', 'edge', 'aspect', 'attribute', 'supersession', 'merge',
             'edge_type', 'turn',
             'namespace', 'key', 'grant', 'invitation', 'working_memory'];
comment on function loci_internal.change_kinds() is
    'Kinds of things in the change feed.';
