-- Write an entry of working memory: value, category and tags anew, and its time to live from now (working_memory_ttl,
-- unless stated). A key that is there is replaced, the last writer wins. A key without `/` stands under the caller's
-- own space. Which spaces may be written: working_memory_key; how many entries one holds: reserve_working_memory_slot.
-- Replacing an own live entry locks its row alone; otherwise writers of one space wait for each other (take_turn, to
-- the end of the transaction), and then the clock is read. Durable like any write. Security definer: writes past the
-- policies; checks the caller itself. Errors: 42501, P0002 (namespace), 22023, 53400 (the space is full), 40001 (its
-- owner renewed it meanwhile).
create or replace function loci_api.save_working_memory(
    p_namespace text, p_key text, p_value jsonb, p_ttl_seconds double precision default null,
    p_category text default null,
    p_tags text[] default null, p_space text default null)
returns table (key text, space text, category text, tags text[], stored_at timestamptz, expires_at timestamptz)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'writer');
    v_key   text := loci_internal.working_memory_key(v_ns, p_key, p_space, true);
    v_space text := split_part(v_key, '/', 1) || '/' || split_part(v_key, '/', 2);
    v_agent uuid := loci.current_agent();
    v_ttl   double precision :=
        coalesce(p_ttl_seconds, (loci_internal.settings(v_ns) ->> 'working_memory_ttl')::double precision);
    v_life  interval;
    v_tags  text[] := coalesce(p_tags, '{}');
    v_words tsvector;
    v_there boolean;
    v_now   timestamptz;
begin
    perform loci_internal.check_working_memory_entry(p_value, v_ttl, p_category, p_tags);
    v_life := v_ttl * interval '1 second';
    v_words := loci_internal.session_text_document(v_ns,
                                                   loci_internal.working_memory_text(v_key, p_value, p_category,
                                                       p_tags));
    v_now := clock_timestamp();
    return query
    update loci_data.working_memory w
    set value = p_value, category = p_category, tags = v_tags, stored_at = v_now, expires_at = v_now + v_life,
        document = v_words,
        terms = loci_internal.count_terms(v_words)
    where w.namespace_id = v_ns and w.key = v_key and w.agent_id = v_agent and w.expires_at > v_now
    returning w.key, w.space, w.category, w.tags, w.stored_at, w.expires_at;
    v_there := found;
    if not v_there then
        perform loci_internal.take_turn(v_ns, 'space ' || v_space);
        v_now := clock_timestamp();
        v_agent := loci_internal.reserve_working_memory_slot(v_ns, v_key, v_space, v_now);
        return query
        insert into loci_data.working_memory as w (namespace_id, key, space, agent_id, value, category, tags,
                                                   stored_at, expires_at, document, terms)
        values (v_ns, v_key, v_space, v_agent, p_value, p_category, v_tags, v_now, v_now + v_life, v_words,
                loci_internal.count_terms(v_words))
        on conflict (namespace_id, key) do update
        set agent_id = excluded.agent_id, value = excluded.value, category = excluded.category, tags = excluded.tags,
            stored_at = excluded.stored_at, expires_at = excluded.expires_at, document = excluded.document,
            terms = excluded.terms
        where w.expires_at <= v_now or w.agent_id = v_agent or loci_internal.owns_space(v_ns, v_space)
        returning w.key, w.space, w.category, w.tags, w.stored_at, w.expires_at;
        if not found then
            raise serialization_failure using message = 'the entry was renewed by its owner meanwhile',
                hint = 'Try again.';
        end if;
    end if;
    perform loci_internal.log_working_memory_write(v_ns, case when v_there then 'changed' else 'created' end, v_key,
                                                   p_category, v_tags, v_now + v_life);
end $$;
comment on function loci_api.save_working_memory(text, text, jsonb, double precision, text, text[], text) is
    'Write an entry of working memory, or replace it. Errors: 42501, P0002, 22023, 53400, 40001.';

-- Is this an entry that working memory takes? Value: JSON of at most 1 MiB of text. TTL: more than 0 seconds, at most
-- 366 days. Category: a path. Tags: at most 100, 1 to 255 characters each. Pure but for what it raises. Errors: 22023
-- naming the field and the value.
create or replace function loci_internal.check_working_memory_entry(p_value jsonb, p_ttl_seconds double precision,
                                                                    p_category text, p_tags text[]) returns void
language plpgsql immutable
as $$
declare
    v_wrong text[] := case
        when p_value is null then array['value', 'value must be JSON; null is written as the JSON null']
        when pg_column_size(p_value) > 100000 and octet_length(p_value::text) > 1048576
            then array['value', format('value must be at most 1 MiB (1,048,576 bytes) of JSON text; it has %s',
                                       octet_length(p_value::text))]
        when not (p_ttl_seconds > 0 and p_ttl_seconds <= 31622400)
            then array['ttl_seconds',
                       format('ttl_seconds must be more than 0 and at most 31622400 (366 days), not %s', p_ttl_seconds)]
        when length(p_category) not between 1 and 255 or p_category !~ '^[^/]+(/[^/]+)*$'
             or p_category ~ '(^|/)\s+(/|$)'
            then array['category',
                       format('category must be a path such as work/projects, without empty or blank segments, at '
                              'most 255 characters, not %L', left(p_category, 100))]
        when cardinality(p_tags) > 100
            then array['tags', format('tags must be at most 100, not %s', cardinality(p_tags))]
        when exists (select from unnest(p_tags) t(tag) where t.tag is null or length(t.tag) not between 1 and 255)
            then array['tags', 'each of tags must have 1 to 255 characters'] end;
begin
    if v_wrong is not null then
        raise invalid_parameter_value using message = v_wrong[2], column = v_wrong[1];
    end if;
end $$;
comment on function loci_internal.check_working_memory_entry(jsonb, double precision, text, text[]) is
    'Raise 22023 for an entry that working memory does not take.';
