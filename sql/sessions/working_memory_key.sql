-- The full key that a caller means: one with `/` is a full path, one without stands under the caller's own space. A
-- path has segments that are not blank, none of them . or .., which the way over a URL would fold; at most 512
-- characters, no control characters. With p_writes nothing is meant outside the path that the caller is bound to
-- (bound_space), nor outside a declared space, which lies under that: it narrows, and never leaves. Pure but for who
-- calls. Errors: 22023 (key, space), 42501 (space: a declared one outside the bound path; key: a write outside).
create or replace function loci_internal.working_memory_key(p_namespace_id integer, p_key text, p_space text,
                                                            p_writes boolean) returns text
language plpgsql stable
as $$
declare
    v_space text := loci_internal.check_space(p_space);
    v_bound text := case when p_writes or p_key not like '%/%' then loci_internal.bound_space(p_namespace_id) end;
    v_key   text := case when p_key like '%/%' then p_key
                         else coalesce(v_space, loci_internal.own_space(v_bound)) || '/' || p_key end;
    v_wrong text := case when coalesce(p_key, '') = '' then 'must not be empty'
                        when p_key !~ '^[^/]+(/[^/]+)*$'
                            then 'must be a path of non-empty segments such as session/abc/plan: no slash at either '
                                 'end, none doubled'
                        when p_key ~ '(^|/)\s+(/|$)' then 'must not have a blank segment'
                        when p_key ~ '[\u0001-\u001f\u007f-\u009f]' then 'must not contain control characters'
                        when p_key ~ '(^|/)\.\.?(/|$)' then 'must not have a segment . or ..'
                        when length(v_key) > 512 then format('must have at most 512 characters with its space, not %s',
                                                             length(v_key)) end;
begin
    if v_wrong is not null then
        raise invalid_parameter_value using column = 'key',
            message = format('key %s; it is %L', v_wrong, left(p_key, 100));
    elsif p_writes and not loci_internal.path_is_within(p_space, v_bound) then
        raise insufficient_privilege using column = 'space',
            message = format('the space %s is outside %s, where this key may write', p_space, v_bound),
            hint = 'Declare a space under it, or none; a key for another space is made with POST /api/v1/keys. Reading '
                   'needs no declaration.';
    elsif p_writes and not loci_internal.path_is_within(v_key, coalesce(p_space, v_bound)) then
        raise insufficient_privilege using column = 'key',
            message = format('%L is in the space %s/%s, and writes go to %s', left(p_key, 100),
                             split_part(v_key, '/', 1), split_part(v_key, '/', 2), coalesce(p_space, v_bound)),
            hint = 'Writes go to the space of the request, or else to that of the API key. Reading takes any.';
    end if;
    return v_key;
end $$;
comment on function loci_internal.working_memory_key(integer, text, text, boolean) is
    'Full key of an entry of working memory. Errors: 22023, 42501.';
