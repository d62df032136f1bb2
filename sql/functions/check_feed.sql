-- May a reader of the change feed ask this? The kinds are ones, the page has a size, and the position is one that was given out and after
-- which nothing was swept: a reader must learn that it has missed something. Called by list_changes; internal.
-- Errors: 22023 (after, kind, limit), 24000 (what comes after this position is no longer kept).
create or replace function loci.check_feed(p_ids integer[], p_after bigint, p_kinds text[], p_limit integer) returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_kind  text := (select k from unnest(p_kinds) k where k is null or k <> all (loci.change_kinds()) limit 1);
    v_swept bigint;
begin
    perform loci.check_limit(p_limit);
    if v_kind is not null or cardinality(p_kinds) = 0 then
        raise invalid_parameter_value using column = 'kind',
            message = format('kind must be one of %s, not %L', array_to_string(loci.change_kinds(), ', '), v_kind);
    end if;
    if p_after is null or p_after < 0 or p_after > (select s.last_value from loci_data.change_positions s) then
        raise invalid_parameter_value using column = 'after',
            message = format('after must be a position that the change feed has given out, not %s', p_after);
    end if;
    if p_after > 0 then  -- 0 is the beginning, wherever that is
        select max(n.changes_from) into v_swept from loci_data.namespaces n where n.id = any (p_ids);
        if p_after < v_swept then
            raise invalid_cursor_state using column = 'after',
                message = format('changes up to position %s are no longer kept, so some after %s are lost to this reader', v_swept, p_after),
                hint = 'Read the present state anew, and go on after "latest"; or start without a position, at the oldest change that is kept.';
        end if;
    end if;
end $$;
comment on function loci.check_feed(integer[], bigint, text[], integer) is 'Refuse what cannot be asked of the change feed. Internal.';
