-- What has changed since? Changes after a position, oldest first, of the namespaces named (null: the caller's default
-- one; {*}: all that the caller may read), of some kinds or of all. A memory's content and a turn's are joined
-- now: null once they were erased. Later calls go on after the last position, or after that of feed_bounds where there
-- are no more. A page ends early at 4 MiB; `more` says that one ended. Index only: primary key, or changes_kind; one
-- range for each namespace and kind, merged by position, then the rows of the page. Security definer: past the
-- policies; checks the caller itself. Errors: 42501, P0002, 22023 (after, kind, limit), 24000 (after: swept).
create or replace function loci.list_changes(
    p_namespaces text[] default null, p_after bigint default 0, p_kinds text[] default null,
    p_limit integer default 100)
returns table ("position" bigint, namespace text, kind text, action text, subject_id uuid, operation_id uuid,
               content text,
               before jsonb, after jsonb, changed_at timestamptz, agent_id uuid, agent text, via text, more boolean)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
    v_ids    integer[] := loci_internal.feed_namespaces(p_namespaces);
    v_spaces integer[];
    v_places bigint[];
begin
    perform loci_internal.check_feed_question(v_ids, p_after, p_kinds, p_limit);
    if p_kinds is null then
        select array_agg(f.namespace_id order by f.position), array_agg(f.position order by f.position) into v_spaces,
               v_places
        from (select c.* from unnest(v_ids) n(id)
              cross join lateral (select c.namespace_id, c.position from loci_data.changes c
                                  where c.namespace_id = n.id and c.position > p_after
                                  order by c.position limit p_limit + 1) c
              order by c.position limit p_limit + 1) f;
    else
        select array_agg(f.namespace_id order by f.position), array_agg(f.position order by f.position) into v_spaces,
               v_places
        from (select c.* from unnest(v_ids) n(id) cross join (select distinct k from unnest(p_kinds) k) k
              cross join lateral (select c.namespace_id, c.position from loci_data.changes c
                                  where c.namespace_id = n.id and c.kind = k.k and c.position > p_after
                                  order by c.position limit p_limit + 1) c
              order by c.position limit p_limit + 1) f;
    end if;
    return query
    select r.position, r.namespace, r.kind, r.action, r.subject_id, r.operation_id, r.content, r.before, r.after,
           r.changed_at,
           r.agent_id, r.agent, r.via, max(r.position) over () < v_places[cardinality(v_places)]
    from (select c.*, n.name as namespace, o.agent_id, a.name as agent, o.via, t.content,
                 sum(coalesce(octet_length(t.content), 0) + coalesce(pg_column_size(c.before), 0) +
                     coalesce(pg_column_size(c.after), 0))
                     over (order by c.position rows between unbounded preceding and 1 preceding) as ahead
          from unnest(v_spaces[:p_limit], v_places[:p_limit]) w(namespace_id, place)
          cross join lateral (select c.* from loci_data.changes c where c.namespace_id = w.namespace_id
                              and c.position = w.place offset 0) c
          join loci_data.namespaces n on n.id = c.namespace_id
          left join loci_data.operations o on o.namespace_id = c.namespace_id and o.id = c.operation_id
          left join loci_data.agents a on a.id = o.agent_id
          cross join lateral (
              select case c.kind
                  when 'memory' then (select m.content from loci_data.memories m where m.namespace_id = c.namespace_id
                                      and m.id = c.subject_id)
                  when 'turn' then (select u.content from loci_data.conversation_turns u
                                    where u.namespace_id = c.namespace_id
                                    and u.session_id = coalesce(c.after, c.before) ->> 'session_id'
                                    and u.id = (coalesce(c.after, c.before) ->> 'id')::bigint)
              end as content offset 0) t) r
    where coalesce(r.ahead, 0) < 4194304
    order by r.position;
end $$;
comment on function loci.list_changes(text[], bigint, text[], integer) is
    'The change feed: what has changed after a position, oldest first, by namespace and kind. Errors: 42501, P0002, '
    '22023, 24000.';

-- What can change: the kinds of things in the change feed.
create or replace function loci_internal.change_kinds() returns text[]
language sql immutable parallel safe
return array['memory', 'placement', 'link', 'entity', 'edge', 'aspect', 'attribute', 'supersession', 'merge',
             'edge_type', 'turn',
             'namespace', 'key', 'grant', 'invitation', 'working_memory'];
comment on function loci_internal.change_kinds() is
    'Kinds of things in the change feed.';

-- May a reader of the change feed ask this? The kinds are ones, the page has a size, and the position is one that was
-- given out and after which nothing was swept: a reader must learn that it has missed something. Errors: 22023 (after,
-- kind, limit), 24000 (what comes after this position is no longer kept).
create or replace function loci_internal.check_feed_question(p_ids integer[], p_after bigint, p_kinds text[],
                                                             p_limit integer) returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_kind  text := (select k from unnest(p_kinds) k where k is null
                     or k <> all (loci_internal.change_kinds()) limit 1);
    v_swept bigint;
begin
    perform loci_internal.check_limit(p_limit);
    if v_kind is not null or cardinality(p_kinds) = 0 then
        raise invalid_parameter_value using column = 'kind',
            message = format('kind must be one of %s, not %L', array_to_string(loci_internal.change_kinds(), ', '),
                             v_kind);
    end if;
    if p_after is null or p_after < 0 or p_after > (select s.last_value from loci_data.change_positions s) then
        raise invalid_parameter_value using column = 'after',
            message = format('after must be a position that the change feed has given out, not %s', p_after);
    end if;
    if p_after > 0 then  -- 0 is the beginning, wherever that is
        select max(n.changes_from) into v_swept from loci_data.namespaces n where n.id = any (p_ids);
        if p_after < v_swept then
            raise invalid_cursor_state using column = 'after',
                message = format(
                    'changes up to position %s are no longer kept, so some after %s are lost to this reader', v_swept,
                    p_after),
                hint = 'Read the present state anew, and go on after "latest"; or start without a position, at the '
                       'oldest change that is kept.';
        end if;
    end if;
end $$;
comment on function loci_internal.check_feed_question(integer[], bigint, text[], integer) is
    'Refuse what cannot be asked of the change feed.';
