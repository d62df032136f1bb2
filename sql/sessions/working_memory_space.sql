-- The caller's own space in working memory, where plain keys stand: the one that the request declares, else own_space.
-- Errors: 22023 (space).
create or replace function loci_internal.working_memory_space(p_namespace_id integer, p_space text) returns text
language sql stable
as $$
    select coalesce(loci_internal.check_space(p_space),
                    loci_internal.own_space(loci_internal.bound_space(p_namespace_id)))
$$;
comment on function loci_internal.working_memory_space(integer, text) is
    'The declared space, checked, or that of the caller. Errors: 22023.';

-- The caller's own space under the path that its writes are bound to: that path; under one of one segment, that and the
-- agent's id; unbound, agent/<its id>, agent/operator for the operator.
create or replace function loci_internal.own_space(p_bound text) returns text
language sql stable
as $$
    select case when p_bound like '%/%' then p_bound
                else coalesce(p_bound, 'agent') || '/'
                     || case when loci_internal.is_operator() then 'operator' else loci.current_agent()::text end end
$$;
comment on function loci_internal.own_space(text) is
    'The caller''s own space of working memory under the path that its writes are bound to.';

-- A declared space as it is: two segments, none of them blank, at most 255 characters, none of them a control
-- character. Null: none. Pure. Errors: 22023 (space).
create or replace function loci_internal.check_space(p_space text) returns text
language plpgsql immutable
as $$
begin
    if p_space !~ '^[^/]+/[^/]+$' or p_space ~ '(^|/)\s+(/|$)'
        or p_space ~ '[\u0001-\u001f\u007f-\u009f]' or p_space ~ '(^|/)\.\.?(/|$)'
        or length(p_space) > 255 then
        raise invalid_parameter_value using column = 'space',
            message = format('space must be two segments such as session/abc, at most 255 characters, not %L',
                             left(p_space, 100));
    end if;
    return p_space;
end $$;
comment on function loci_internal.check_space(text) is
    'A declared space of working memory. Errors: 22023.';
