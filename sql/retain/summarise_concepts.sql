-- Write the summaries that a model proposes (reflect, p_plan) into concepts: a new version of each, whose first line
-- stays. Only of those that reflect itself made or last wrote, that are current and not protected: what a person wrote
-- stays theirs. One write for all. Returns [{id, lineage, content}]; in a dry run without ids. Errors: those of
-- remember.
create or replace function loci_internal.summarise_concepts(p_namespace_id integer, p_namespace text, p_plan jsonb,
                                                            p_dry_run boolean) returns jsonb
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_now      loci_internal.memory_filter := loci_internal.filter_at(clock_timestamp(), null);
    v_settings jsonb := loci_internal.settings(p_namespace_id);
    v_items    jsonb;
begin
    select coalesce(jsonb_agg(jsonb_build_object(
        'lineage', m.lineage, 'content', split_part(m.content, E'\n', 1) || E'\n' || s.summary, 'source', 'reflect',
        'confidence', m.confidence, 'metadata', m.metadata) order by m.lineage), '[]') into v_items
    from (select distinct on (u.memory_id) u.*
          from jsonb_to_recordset(coalesce(p_plan -> 'summaries', '[]')) u(memory_id uuid, summary text)
          order by u.memory_id, u.summary) s
    cross join lateral (select o.* from loci_data.memories o where o.namespace_id = p_namespace_id
                        and o.id = s.memory_id limit 1) m
    where loci_internal.memory_is_visible(m, v_now) and loci_internal.may_summarise_concept(m, v_settings)
      and not exists (select from loci_data.memories o where o.namespace_id = p_namespace_id and o.lineage = m.lineage
                      and o.version > m.version);
    if p_dry_run or v_items = '[]' then
        return (select
                coalesce(jsonb_agg(jsonb_build_object('id', null, 'lineage', i.value -> 'lineage',
                                                      'content', i.value -> 'content') order by i.nth), '[]')
                from jsonb_array_elements(v_items) with ordinality i(value, nth));
    end if;
    return (select jsonb_agg(jsonb_build_object('id', r.id, 'lineage', i.value -> 'lineage',
                                                'content', i.value -> 'content') order by i.nth)
            from loci_api.remember(p_namespace, v_items) r
            join jsonb_array_elements(v_items) with ordinality i(value, nth) on i.nth = r.ordinal + 1);
end $$;
comment on function loci_internal.summarise_concepts(integer, text, jsonb, boolean) is
    'Write summaries that a model proposes into concepts that reflect made.';
