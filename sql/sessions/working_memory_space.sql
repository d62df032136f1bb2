-- The caller's own space in working memory, where plain keys stand: the one that the request declares, else the one
-- that its writes are bound to. Bound to one segment it is that and the agent's id; unbound it is agent/<its id>,
-- agent/operator for the operator. A declared one has two segments. Errors: 22023 (space).
create or replace function loci_internal.working_memory_space(p_namespace_id integer, p_space text) returns text
language plpgsql stable
as $$
declare
    v_agent text := case when loci_internal.is_operator() then 'operator' else loci.current_agent()::text end;
    v_bound text := coalesce(loci_internal.bound_space(p_namespace_id), 'agent/' || v_agent);
begin
    if p_space is null then
        return case when v_bound like '%/%' then v_bound else v_bound || '/' || v_agent end;
    elsif p_space !~ '^[^/]+/[^/]+$' or p_space ~ '[\u0001-\u001f\u007f-\u009f]' or p_space ~ '(^|/)\.\.?(/|$)'
        or length(p_space) > 255 then
        raise invalid_parameter_value using column = 'space',
            message = format('space must be two segments such as session/abc, at most 255 characters, not %L',
                             left(p_space, 100));
    end if;
    return p_space;
end $$;
comment on function loci_internal.working_memory_space(integer, text) is
    'The declared space, checked, or that of the caller. Errors: 22023.';
