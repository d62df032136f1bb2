-- What does a model need to expand a saved memory into well-formed ones? The memory as it is shown; whether it is one
-- version of a named lineage, which cannot become several; whether it is protected; the p_near memories nearest by
-- words, so that it does not say again what is known; and the categories most used of late. No row: it is gone,
-- forgotten, no longer valid, or has a later version. Cost: a search by words, and an index range of a thousand
-- memories. Security definer: reads past the policies; checks first. Errors: 42501, P0002.
create or replace function loci_api.memory_to_enrich(p_namespace text, p_id uuid, p_near integer default 6)
returns table (memory loci.memory_record, is_named boolean, is_protected boolean, near jsonb, categories text[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_now      timestamptz := clock_timestamp();
begin
    return query
    select loci.memory_record(m, v_now, (select p.parent_id from loci_internal.parent_of(m, v_now, null) p)),
           m.lineage <> m.lineage_id::text or m.version > 1,
           m.importance >= (v_settings ->> 'protected_importance')::double precision
               or m.observations >= (v_settings ->> 'protected_observations')::integer,
           (select coalesce(jsonb_agg(left(loci_internal.text_with_subject(o.content, o.about), 500)
                                   order by s.score desc, s.doc_id), '[]')
            from loci.search_text(p_namespace, left(m.content, 2000), p_near + 1) s
            cross join lateral (select o.content, o.about, o.lineage_id from loci_data.memories o
                                where o.namespace_id = v_ns
                                and o.id = s.id limit 1) o
            where o.lineage_id <> m.lineage_id),
           array(select c.category
                 from (select o.category from loci_data.memories o where o.namespace_id = v_ns and o.status = 'active'
                                         order by o.doc_id desc limit 1000) c
                 group by c.category order by count(*) desc, c.category limit 100)
    from loci_data.memories m
    where m.namespace_id = v_ns and m.id = p_id
      and loci_internal.memory_is_visible(m, loci_internal.filter_at(v_now, null))
      and not exists (select from loci_data.memories o where o.namespace_id = v_ns and o.lineage = m.lineage
                      and o.version > m.version);
end $$;
comment on function loci_api.memory_to_enrich(text, uuid, integer) is
    'A saved memory with what a model needs to expand it; no row: there is nothing to expand any more. Errors: 42501, '
    'P0002.';
