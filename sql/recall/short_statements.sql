-- What do these memories say, as far as they are short (up to 300 characters), and what did their lineages say before?
-- For who compares statements: content (with whom it is about in front, where it does not say so), category, earlier
-- versions that are short as well (the last eight, the latest first; forgotten ones are left out), from when they are
-- valid, as believed at p_known_at, and when they were recorded. 200 documents at most; a look-up each, and a range of
-- memories_chain for those that are not the first version. Security definer; checks first.
create or replace function loci_api.short_statements(
    p_namespace text, p_documents bigint[], p_known_at timestamptz default null)
returns table (doc_id bigint, content text, earlier text[], valid_from timestamptz, recorded_at timestamptz,
               category text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select b.doc_id, loci_internal.text_with_subject(m.content, m.about),
           case when m.version > 1 then array(
               select e.content from loci_data.memories e
               where e.namespace_id = v_ns and e.lineage_id = m.lineage_id and e.version < m.version
                   and e.status = 'active' and length(e.content) <= 300
               order by e.version desc limit 8) else '{}' end,
           b.valid_from, b.recorded_at, m.category
    from unnest(p_documents[:200]) d(number)
    cross join lateral (select o.* from loci_data.memories o where o.namespace_id = v_ns
                        and o.doc_id = d.number limit 1) m
    cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
    where length(m.content) <= 300;
end $$;
comment on function loci_api.short_statements(text, bigint[], timestamptz) is
    'Contents of the short ones of some memories, what their lineages said before, and since when they hold. Errors: '
    '42501, P0002.';
