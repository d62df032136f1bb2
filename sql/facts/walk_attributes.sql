-- What is most worth knowing about these entities? Of each the heaviest aspects (settings walk_aspects), and
-- of each aspect the most important attributes that hold at the times of p_filter (walk_attributes); at equal
-- importance the newest. An aspect without any is a row without an id. memory_id and doc_id: only of a memory that
-- passes p_filter. 16 entities a statement; past p_deadline every row passes, and so ends the search for one that
-- holds; a last row without an aspect says that it was cut short, there or after 20,000 rows (fifty entities have half
-- as many at most), which are as many as can be put into an answer in time. Aspects known at known_at are looked for
-- among the 1,000 heaviest. Indexes aspects_weight, attributes_importance.
create or replace function loci_internal.walk_attributes(
    p_namespace_id integer, p_ids uuid[], p_filter loci_internal.memory_filter, p_deadline timestamptz)
returns table (entity_id uuid, aspect_id uuid, aspect text, weight double precision, id uuid, content text,
               importance double precision,
               confidence double precision, memory_id uuid, doc_id bigint)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_settings   jsonb := loci_internal.settings(p_namespace_id);
    v_aspects    integer := v_settings ->> 'walk_aspects';
    v_attributes integer := v_settings ->> 'walk_attributes';
    v_known_at   timestamptz := coalesce(p_filter.known_at, 'infinity');
    v_rows       integer := 0;
    v_step       integer;
begin
    for v_done in 0 .. cardinality(p_ids) - 1 by 16 loop
        return query
        select f.id, s.id, s.name, s.weight, t.id, t.content, t.importance, t.confidence, m.id, m.doc_id
        from unnest(p_ids[v_done + 1 : v_done + 16]) f(id)
        cross join lateral (
            select h.* from (
                select a.id, a.name, a.weight, a.created_at from loci_data.aspects a
                where a.namespace_id = p_namespace_id and a.entity_id = f.id
                order by a.weight desc, a.id desc limit 1000) h
            where h.created_at <= v_known_at limit v_aspects) s
        left join lateral (
            select a.id, a.content, h.importance, h.confidence, a.memory_id, h.held
            from loci_data.attributes a
            cross join lateral loci_internal.attribute_at(a, p_filter.as_of, v_known_at) h
            where a.namespace_id = p_namespace_id and a.aspect_id = s.id and a.kind = 'attribute'
              and (h.held or clock_timestamp() > p_deadline)
            order by a.importance desc, a.id desc limit v_attributes) t on t.held
        left join lateral (
            select m.id, m.doc_id from loci_data.memories m
            where m.namespace_id = p_namespace_id and m.id = t.memory_id
              and loci_internal.memory_is_visible(m, p_filter) limit 1) m on true;
        get diagnostics v_step = row_count;
        v_rows := v_rows + v_step;
        if clock_timestamp() > p_deadline or v_rows > 20000 then
            aspect_id := null;
            return next;
            return;
        end if;
    end loop;
end $$;
comment on function loci_internal.walk_attributes(integer, uuid[], loci_internal.memory_filter, timestamptz) is
    'Attributes of the heaviest aspects of entities; a last row without an aspect: it was cut short.';
