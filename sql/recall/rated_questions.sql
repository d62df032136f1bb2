-- Which questions were asked here whose answers were called useful later, and which memories were that? Of logged
-- recalls that no filters or times restricted; a question that was asked more than once counts once, with all that
-- answered; memories that are not there any more are left out. The last p_limit questions, newest first. A range of
-- recalls_at, and of recall_results for each. Security definer: reads past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023 (limit).
create or replace function loci_api.rated_questions(p_namespace text, p_limit integer)
returns table (question text, ids uuid[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'admin');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, '{}', null, null);
begin
    perform loci_internal.check_limit(p_limit);
    return query
    select (array_agg(r.query order by r.at desc, r.id))[1], array_agg(distinct m.id)
    from loci_data.recalls r
    join loci_data.recall_results x on x.namespace_id = v_ns and x.recall_id = r.id and x.useful
    join loci_data.memories m on m.namespace_id = v_ns and m.id = x.memory_id
    where r.namespace_id = v_ns and r.filters = '{}' and r.as_of is null and r.known_at is null
      and btrim(r.query) <> '' and loci_internal.memory_is_visible(m, v_filter)
    group by lower(btrim(r.query)) order by max(r.at) desc, lower(btrim(r.query)) limit p_limit;
end $$;
comment on function loci_api.rated_questions(text, integer) is
    'Questions of logged recalls with the memories that were called useful. Admin. Errors: 42501, P0002, 22023.';
