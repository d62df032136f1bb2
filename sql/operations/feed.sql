-- Change feed: cursors, bounds, pages.

-- From where to where does the change feed reach in these namespaces? A reader that asks this first, and then
-- read_changes, and finds no more there, has read up to the last change whatever its filter passed over: last_cursor.
-- place: that of the given cursor or place, from which it reads. One probe a namespace. Security definer: past the
-- policies; checks the caller itself. Errors: 42501, P0002, 22023 (namespaces, after), 24000 (after).
create or replace function loci_api.feed_bounds(p_namespaces text[] default null, p_after text default null,
                                                p_place bigint default null)
returns table (place bigint, last_place bigint, last_cursor text, namespace_ids integer[])
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ids integer[] := loci_internal.feed_namespaces(p_namespaces);
begin
    return query
    select coalesce(p_place, loci_internal.cursor_place(p_after)), coalesce(f.last_place, 0),
           coalesce(loci_internal.feed_cursor(f.token, f.last_position), '0'), v_ids
    from (select) one
    left join (select w.* from loci_data.feeds w where w.namespace_id = any (v_ids)
               order by w.last_place desc, w.namespace_id limit 1) f on true;
end $$;
comment on function loci_api.feed_bounds(text[], text, bigint) is
    'How far the change feed of these namespaces reaches, the cursor of its last change, the place of a cursor, and '
    'the ids of the namespaces. Errors: 42501, P0002, 22023, 24000.';

-- Position that a reader of the feed goes on after: a change by the token of its feed and its position there. So it
-- tells of no namespace but that of a change that the reader has seen, means the same after a restart and in a restored
-- database, and holds no secret. It stands for a position in the order over all namespaces (cursor_place). Inlines.
create or replace function loci_internal.feed_cursor(p_token text, p_position bigint) returns text
language sql immutable parallel safe
return p_token || '-' || p_position;
comment on function loci_internal.feed_cursor(text, bigint) is
    'The cursor of a change.';

-- Which place, in the order of all namespaces, does a cursor stand for? Null and 0: the beginning, wherever that is.
-- The caller must be able to read the feed that it names: otherwise a cursor could ask how much happens in others.
-- Security invoker; called with the owner's rights. Errors: 22023 (after: no cursor that was given out), 24000
-- (after: what comes behind it is no longer kept, or its namespace is gone for this caller).
create or replace function loci_internal.cursor_place(p_cursor text) returns bigint
language plpgsql stable set search_path = '' set enable_seqscan = off
as $$
declare
    v_feed     loci_data.feeds;
    v_position bigint;
    v_place    bigint;
begin
    if p_cursor is null or p_cursor = '0' then
        return 0;
    elsif p_cursor !~ '^[0-9a-f]{12}-[0-9]{1,18}$' then
        raise invalid_parameter_value using column = 'after',
            message = format('after must be a cursor that the change feed has given out, not %L', left(p_cursor, 64));
    end if;
    v_position := split_part(p_cursor, '-', 2);
    select f.* into v_feed from loci_data.feeds f
    where f.token = split_part(p_cursor, '-', 1) and f.namespace_id = any (loci.readable_namespaces());
    if not found then
        v_place := loci_internal.departed_place(split_part(p_cursor, '-', 1), v_position);
        if v_place is not null then
            return v_place;
        end if;
        raise invalid_cursor_state using column = 'after',
            message = 'the namespace of this cursor was deleted, or you may no longer read it',
            hint = 'Read the current state again, then continue after "latest".';
    elsif v_position > v_feed.last_position then
        raise invalid_parameter_value using column = 'after',
            message = format('after must be a cursor that the change feed has given out, not %L', p_cursor);
    elsif v_position < v_feed.swept_position then
        perform loci_internal.refuse_swept(p_cursor);
    end if;
    return case when v_position = v_feed.swept_position then v_feed.swept_place
                else (select c.place from loci_data.changes c
                      where c.namespace_id = v_feed.namespace_id and c.position = v_position) end;
end $$;
comment on function loci_internal.cursor_place(text) is
    'The place that a cursor stands for. Errors: 22023, 24000.';

-- Raise 24000 for a cursor behind which changes were swept: its reader must learn that it has missed something.
create or replace function loci_internal.refuse_swept(p_cursor text) returns void
language plpgsql immutable set search_path = ''
as $$
begin
    raise invalid_cursor_state using column = 'after',
        message = format('some of the changes after %s were deleted because they are old', p_cursor),
        hint = 'Read the current state again, then continue after "latest"; or start without a cursor, at the oldest '
               'change that is kept.';
end $$;
comment on function loci_internal.refuse_swept(text) is
    'Refuse a cursor behind which changes are no longer kept. Errors: 24000.';

-- Whose changes does a reader ask for? Ids of the namespaces named, each authorized; null means the caller's default
-- one; {*} all that the caller may read. Cost: 20 µs a name. Internal: checks the caller, but names no one
-- else's. Errors: 42501, P0002 (the first that the caller may not read), 22023 (namespaces).
create or replace function loci_internal.feed_namespaces(p_namespaces text[]) returns integer[]
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ids  integer[] := '{}';
    v_id   integer;
    v_name text;
begin
    if p_namespaces = '{*}' then
        return loci.readable_namespaces();
    end if;
    if cardinality(p_namespaces) not between 1 and 1000 then
        raise invalid_parameter_value using column = 'namespace',
            message = format('namespaces must be 1 to 1000 names, or * alone, not %s', cardinality(p_namespaces));
    end if;
    perform loci_internal.refuse_several_cells(p_namespaces, 'namespace');
    foreach v_name in array coalesce(p_namespaces, array[null::text]) loop
        v_id := loci_internal.authorize(v_name, 'reader');
        continue when v_id = any (v_ids);
        v_ids := v_ids || v_id;
    end loop;
    return v_ids;
end $$;
comment on function loci_internal.feed_namespaces(text[]) is
    'Ids of the namespaces that a reader of changes asks for, authorized.';

-- Which feeds have grown beyond a place, and up to which place do all of them reach now? For those who wake waiting
-- readers: one row always, so that they know from where to look next. Numbers of namespaces, and places, stay inside
-- the service. A namespace that has left for another cell within a minute is named each time, so that its readers find
-- out at once. One look at feeds, of a row a namespace, and one at moves. Security definer: past the policies; the
-- operator's. Errors: 42501.
create or replace function loci_api.grown_feeds(p_place bigint)
returns table (place bigint, namespace_ids integer[])
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('look at the feeds of all namespaces');
    return query
    select coalesce(max(f.last_place), p_place),
           coalesce(array_agg(f.namespace_id), '{}')
           || array(select m.namespace_id from loci_data.namespace_moves m
                    where m.carried is not null and m.stepped_at > clock_timestamp() - interval '1 minute'
                      and not exists (select from loci_data.namespaces n where n.id = m.namespace_id))
    from loci_data.feeds f where f.last_place > p_place;
end $$;
comment on function loci_api.grown_feeds(bigint) is
    'Up to which place the change feed reaches, and ids of the namespaces whose feed reaches beyond p_place, or that '
    'have just left for another cell. Operator only. Errors: 42501.';

-- Changes as list_changes shows them, with the place of each in the order of all namespaces, from which the service
-- goes on without a cursor (p_place; null: p_after says from where). Costs and errors are those of list_changes. A
-- caller is not told of changes committed after its key ended. Security definer: past the policies.
create or replace function loci_api.read_changes(
    p_namespaces text[] default null, p_after text default null, p_place bigint default null,
    p_kinds text[] default null, p_limit integer default 100)
returns table (place bigint, "position" bigint, "cursor" text, namespace text, kind text, action text,
               subject_id uuid, operation_id uuid, content text, before jsonb, after jsonb, changed_at timestamptz,
               agent_id uuid, agent text, via text, more boolean)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    v_ids    integer[] := loci_internal.feed_namespaces(p_namespaces);
    v_after  bigint;
    v_spaces integer[];
    v_places bigint[];
begin
    v_after := loci_internal.check_feed_question(v_ids, p_after, p_place, p_kinds, p_limit);
    select array_agg(n.namespace_id order by n.place), array_agg(n.place order by n.place) into v_spaces, v_places
    from loci_internal.find_next_changes(v_ids, v_after, p_kinds, p_limit + 1) n;
    return query
    select r.place, r.position, loci_internal.feed_cursor(r.token, r.position), r.namespace, r.kind, r.action,
           r.subject_id, r.operation_id, r.content, r.before, r.after, r.changed_at, r.agent_id, r.agent, r.via,
           max(r.place) over () < v_places[cardinality(v_places)]
    from (select c.*, n.name as namespace, d.token, o.agent_id, a.name as agent, o.via, t.content,
                 sum(coalesce(octet_length(t.content), 0) + coalesce(pg_column_size(c.before), 0) +
                     coalesce(pg_column_size(c.after), 0))
                     over (order by c.place rows between unbounded preceding and 1 preceding) as ahead
          from unnest(v_spaces[:p_limit], v_places[:p_limit]) w(namespace_id, place)
          cross join lateral (select c.* from loci_data.changes c where c.namespace_id = w.namespace_id
                              and c.place = w.place offset 0) c
          join loci_data.namespaces n on n.id = c.namespace_id
          join loci_data.feeds d on d.namespace_id = c.namespace_id
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
    order by r.place;
end $$;
comment on function loci_api.read_changes(text[], text, bigint, text[], integer) is
    'Changes after a cursor or a place, with their places: what list_changes shows. Errors: 28000 (a key that '
    'ended meanwhile), 42501, P0002, 22023, 24000.';

-- The next p_limit changes of namespaces after a place, of any kind or of some, in order. One range of an index each.
create or replace function loci_internal.find_next_changes(p_namespace_ids integer[], p_after bigint, p_kinds text[],
                                                           p_limit integer)
returns table (namespace_id integer, place bigint)
language plpgsql stable set search_path = ''
as $$
begin
    if p_kinds is null then
        return query
        select f.* from unnest(p_namespace_ids) n(id)
        cross join lateral (select c.namespace_id, c.place from loci_data.changes c
                            where c.namespace_id = n.id and c.place > p_after order by c.place limit p_limit) f
        order by f.place limit p_limit;
    else
        return query
        select f.* from unnest(p_namespace_ids) n(id) cross join (select distinct k from unnest(p_kinds) k) k
        cross join lateral (select c.namespace_id, c.place from loci_data.changes c
                            where c.namespace_id = n.id and c.kind = k.k and c.place > p_after
                            order by c.place limit p_limit) f
        order by f.place limit p_limit;
    end if;
end $$;
comment on function loci_internal.find_next_changes(integer[], bigint, text[], integer) is 'Next changes, in order.';

-- May a reader of the change feed ask this? Its key has not ended, the kinds are ones, the page has a size, and after
-- what it was given nothing was swept: a reader must learn that it has missed something. Returns the place from which
-- it reads. Errors: 28000, 22023 (after, kind, limit), 24000 (what comes after is no longer kept).
create or replace function loci_internal.check_feed_question(p_ids integer[], p_after text, p_place bigint,
                                                             p_kinds text[], p_limit integer) returns bigint
language plpgsql stable set search_path = ''
as $$
declare
    v_kind text := (select k from unnest(p_kinds) k where k is null or k <> all (loci_internal.change_kinds()) limit 1);
    v_place bigint;
begin
    if exists (select from loci_data.api_keys k
               where k.id = nullif(current_setting('loci.key', true), '')::uuid
                 and (k.revoked_at is not null or k.expires_at <= clock_timestamp())) then
        raise invalid_authorization_specification using message = 'the API key is expired or revoked';
    end if;
    perform loci_internal.check_limit(p_limit);
    if v_kind is not null or cardinality(p_kinds) = 0 then
        raise invalid_parameter_value using column = 'kind',
            message = format('kind must be one of %s, not %L', array_to_string(loci_internal.change_kinds(), ', '),
                             v_kind);
    end if;
    v_place := coalesce(p_place, loci_internal.cursor_place(p_after));
    -- no cursor is the beginning, wherever that is
    if (p_place is not null or p_after <> '0')
       and v_place < (select max(f.swept_place) from loci_data.feeds f where f.namespace_id = any (p_ids)) then
        perform loci_internal.refuse_swept(coalesce(p_after, 'what was read'));
    end if;
    return v_place;
end $$;
comment on function loci_internal.check_feed_question(integer[], text, bigint, text[], integer) is
    'Refuse what cannot be asked of the change feed; the place from which it is read.';
