-- Which memories answer these questions, as they are now? p_questions: [{question, ids?, contents?}]; a memory is named
-- by the id of any of its versions, or by its content. Evidence of each question, by the question's place: the version
-- that holds now, and its document. Probes of the primary key, of memories_lineage_version_key and memories_fold.
-- Security definer: reads past the policies; checks the caller itself. Missing evidence is left out where p_lenient
-- says so; a question without any has none. Errors: 42501, P0002 (questions[n].ids[n], questions[n].contents[n]: not in
-- this namespace, or not there any more).
create or replace function loci_api.tuning_evidence(p_namespace text, p_questions jsonb,
                                                    p_lenient boolean default false)
returns table (place integer, ids uuid[], documents bigint[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, '{}', null, null);
    v_row    record;
    v_wrong  text;
begin
    for v_row in
        select (q.nth - 1)::integer as place,
               coalesce(array_agg(c.id order by e.kind, e.nth) filter (where c.id is not null), '{}') as ids,
               coalesce(array_agg(c.doc_id order by e.kind, e.nth) filter (where c.id is not null), '{}') as documents,
               (array_agg(format('%s[%s] %s', e.kind, e.nth - 1, left(e.value, 200)) order by e.kind, e.nth)
                filter (where c.id is null))[1] as wrong
        from jsonb_array_elements(p_questions) with ordinality q(question, nth)
        cross join lateral (
            select 'ids' as kind, i.nth, i.value
            from jsonb_array_elements_text(coalesce(q.question -> 'ids', '[]')) with ordinality i(value, nth)
            union all
            select 'contents', i.nth, i.value
            from jsonb_array_elements_text(coalesce(q.question -> 'contents', '[]')) with ordinality i(value, nth)) e
        left join lateral (
            select m.id, m.doc_id
            from (select o.lineage from loci_data.memories o
                  where e.kind = 'ids' and o.namespace_id = v_ns and o.id = e.value::uuid
                  union all
                  (select o.lineage from loci_data.memories o
                   where e.kind = 'contents' and o.namespace_id = v_ns and o.valid_to is null and o.status = 'active'
                     and o.content_hash = loci_internal.content_hash(e.value)
                   order by o.doc_id limit 1)) l
            cross join lateral (select o.id, o.doc_id from loci_data.memories o
                                where o.namespace_id = v_ns and o.lineage = l.lineage
                                  and loci_internal.memory_is_visible(o, v_filter)
                                order by o.version desc limit 1) m) c on true
        group by q.nth order by q.nth
    loop
        if v_row.wrong is not null and not p_lenient then
            v_wrong := split_part(v_row.wrong, ' ', 1);
            raise no_data_found using column = format('questions[%s].%s', v_row.place, v_wrong),
                message = format('the namespace has no memory %L now', substr(v_row.wrong, length(v_wrong) + 2));
        end if;
        place := v_row.place;
        ids := v_row.ids;
        documents := v_row.documents;
        return next;
    end loop;
end $$;
comment on function loci_api.tuning_evidence(text, jsonb, boolean) is
    'Memories that answer questions, as they are now, by the place of the question. Errors: 42501, P0002.';
