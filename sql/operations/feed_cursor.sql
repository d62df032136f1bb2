-- Position that a reader of the feed goes on after: a change by the token of its feed and its position there. So it
-- tells of no namespace but that of a change that the reader has seen, means the same after a restart and in a restored
-- database, and holds no secret. One order of all namespaces stands behind it (cursor_place). Inlines.
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

-- The place that a change had here of a namespace that has moved to another cell since: a reader of all namespaces goes
-- on behind it. Null for any other, and for one before the last 10,000. Asked only where no feed has the token; reads a
-- row a move. Called with the owner's rights.
create or replace function loci_internal.departed_place(p_token text, p_position bigint) returns bigint
language sql stable set search_path = ''
as $$
    select m.places[cardinality(m.places) - (m.last_position - p_position)::integer]
    from loci_data.namespace_moves m
    where m.token = p_token and p_position between m.last_position - cardinality(m.places) + 1 and m.last_position
      and (loci_internal.is_operator()
           or exists (select from loci_data.grants g
                      where g.namespace_id = m.namespace_id and g.agent_id = loci.current_agent()
                        and (g.expires_at is null or g.expires_at > clock_timestamp())
                        and loci_internal.key_reaches(m.namespace_id)))
$$;
comment on function loci_internal.departed_place(text, bigint) is
    'The place that a change had of a namespace that has moved away.';
