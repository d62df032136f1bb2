-- Working memory: entries are saved, read, deleted, swept.

-- One entry of working memory, by plain key in the caller's own space or by full path in any. One primary key look-up.
-- Security definer: past the policies; checks the caller itself. Errors: 42501, P0002 (namespace; an entry that is not
-- there or has expired), 22023.
create or replace function loci.get_working_memory(p_namespace text, p_key text, p_space text default null)
returns table (key text, space text, value jsonb, category text, tags text[], stored_at timestamptz,
               expires_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'reader');
    v_key text := loci_internal.working_memory_key(v_ns, p_key, p_space, false);
    v_now timestamptz := clock_timestamp();
begin
    return query
    select w.key, w.space, w.value, w.category, w.tags, w.stored_at, w.expires_at
    from loci_data.working_memory w where w.namespace_id = v_ns and w.key = v_key and w.expires_at > v_now;
    if not found then
        raise no_data_found using column = 'key',
            message = format('working memory holds no %L, or it has expired', v_key);
    end if;
end $$;
comment on function loci.get_working_memory(text, text, text) is
    'An entry of working memory that has not expired. Errors: 42501, P0002, 22023.';

-- What is in working memory under a prefix of whole segments, without the values? In order of the key, page by page:
-- p_cursor is the last key of the page before. Without a prefix: the declared space, or the one that the key was
-- made for, or everything. Ranges of the primary key. Security definer: past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023 (limit, space).
create or replace function loci.list_working_memory(
    p_namespace text, p_prefix text default null, p_limit integer default 50, p_cursor text default null,
    p_space text default null)
returns table (key text, space text, category text, tags text[], stored_at timestamptz, expires_at timestamptz)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_prefix text :=
        coalesce(p_prefix, case when p_space is not null then loci_internal.working_memory_space(v_ns, p_space)
                                else loci_internal.key_space(v_ns) end);
    v_now    timestamptz := clock_timestamp();
begin
    perform loci_internal.check_page(p_limit);
    return query
    select w.key, w.space, w.category, w.tags, w.stored_at, w.expires_at
    from loci_internal.working_memory_key_ranges(v_prefix) r
    cross join lateral (
        select o.key, o.space, o.category, o.tags, o.stored_at, o.expires_at from loci_data.working_memory o
        where o.namespace_id = v_ns and o.key >= greatest(r.lowest, p_cursor || E'\x01' collate "C")
          and o.key < r.bound and o.expires_at > v_now
        order by o.key limit p_limit) w
    order by w.key limit p_limit;
end $$;
comment on function loci.list_working_memory(text, text, integer, text, text) is
    'Entries under a prefix of whole segments, without values, in order of the key; cursor pages. Errors: 42501, '
    'P0002, 22023.';

-- Delete an entry of working memory, where the caller writes (working_memory_key): one's own, in a space of one's own
-- any, as an admin any. deleted false: it was not there, or had expired (it goes then, too). Safe beside writers: an
-- entry renewed meanwhile is judged as renewed. Security definer: writes past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023.
create or replace function loci_api.delete_working_memory(p_namespace text, p_key text, p_space text default null)
returns table (key text, deleted boolean)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'writer');
    v_key     text := loci_internal.working_memory_key(v_ns, p_key, p_space, true);
    v_own     boolean := loci_internal.owns_space(v_ns, split_part(v_key, '/', 1) || '/' || split_part(v_key, '/', 2));
    v_now     timestamptz;
    v_owner   uuid;
    v_expires timestamptz;
begin
    select w.agent_id, w.expires_at into v_owner, v_expires from loci_data.working_memory w
    where w.namespace_id = v_ns and w.key = v_key for update;
    v_now := clock_timestamp();
    if v_expires > v_now and v_owner <> loci.current_agent() and not v_own and not loci_internal.is_admin(v_ns) then
        raise insufficient_privilege using column = 'key',
            message = format('the entry %s belongs to another agent', v_key),
            hint = 'Only its agent and admins delete it; it goes when it expires.';
    end if;
    delete from loci_data.working_memory w where w.namespace_id = v_ns and w.key = v_key
        and w.expires_at is not distinct from v_expires;
    if v_expires > v_now then
        perform loci_internal.log_working_memory_write(v_ns, 'erased', v_key);
    end if;
    return query select v_key, coalesce(v_expires > v_now, false);
end $$;
comment on function loci_api.delete_working_memory(text, text, text) is
    'Delete an entry of working memory; whether there was a live one. Errors: 42501, P0002, 22023.';

-- Write an entry of working memory: value, category and tags anew, and its time to live from now (working_memory_ttl,
-- unless stated). A key that is there is replaced, the last writer wins. A key without `/` stands under the caller's
-- own space. Which spaces may be written: working_memory_key; how many entries one holds: reserve_working_memory_slot.
-- Replacing an own live entry locks its row alone; otherwise writers of one space wait for each other (take_turn, to
-- the end of the transaction), and then the clock is read. Durable like any write. Security definer: writes past the
-- policies; checks the caller itself. Errors: 42501, P0002 (namespace), 22023, 53400 (the space is full), 40001 (its
-- owner renewed it meanwhile).
create or replace function loci_api.save_working_memory(
    p_namespace text, p_key text, p_value jsonb, p_ttl_seconds double precision default null,
    p_category text default null, p_tags text[] default null, p_space text default null)
returns table (key text, space text, category text, tags text[], stored_at timestamptz, expires_at timestamptz)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'writer');
    v_key     text := loci_internal.working_memory_key(v_ns, p_key, p_space, true);
    v_ttl     double precision :=
        coalesce(p_ttl_seconds, (loci_internal.settings(v_ns) ->> 'working_memory_ttl')::double precision);
    v_life    interval;
    v_entry   loci_data.working_memory;
    v_written loci_data.working_memory;
    v_there   boolean;
    v_now     timestamptz;
begin
    perform loci_internal.check_working_memory_entry(p_value, v_ttl, p_category, p_tags);
    v_life := v_ttl * interval '1 second';
    v_entry.namespace_id := v_ns;
    v_entry.key := v_key;
    v_entry.space := split_part(v_key, '/', 1) || '/' || split_part(v_key, '/', 2);
    v_entry.value := p_value;
    v_entry.category := p_category;
    v_entry.tags := coalesce(p_tags, '{}');
    v_entry.document := loci_internal.session_text_document(
        v_ns, loci_internal.working_memory_text(v_key, p_value, p_category, p_tags));
    v_entry.terms := loci_internal.count_terms(v_entry.document);
    v_now := clock_timestamp();
    update loci_data.working_memory w
    set value = p_value, category = p_category, tags = v_entry.tags, stored_at = v_now, expires_at = v_now + v_life,
        document = v_entry.document, terms = v_entry.terms
    where w.namespace_id = v_ns and w.key = v_key and w.agent_id = loci.current_agent() and w.expires_at > v_now
    returning w.* into v_written;
    v_there := found;
    if not v_there then
        v_written := loci_internal.insert_working_memory_entry(v_entry, v_life);
    end if;
    perform loci_internal.log_working_memory_write(v_ns, case when v_there then 'changed' else 'created' end, v_key,
                                                   p_category, v_written.tags, v_written.expires_at);
    return query select v_written.key, v_written.space, v_written.category, v_written.tags, v_written.stored_at,
                        v_written.expires_at;
end $$;
comment on function loci_api.save_working_memory(text, text, jsonb, double precision, text, text[], text) is
    'Write an entry of working memory, or replace it. Errors: 42501, P0002, 22023, 53400, 40001.';

-- Write an entry that its agent has not there alive, for p_life from the moment at which the writers of its space have
-- let this one in. An expired entry is replaced, and so is one of its owner or the owner of the space. Errors: 53400
-- (the space is full), 40001 (its owner renewed it meanwhile).
create or replace function loci_internal.insert_working_memory_entry(p_entry loci_data.working_memory, p_life interval)
returns loci_data.working_memory
language plpgsql volatile set search_path = ''
as $$
declare
    v_now     timestamptz;
    v_agent   uuid;
    v_written loci_data.working_memory;
begin
    perform loci_internal.take_turn(p_entry.namespace_id, 'space ' || p_entry.space);
    v_now := clock_timestamp();
    v_agent := loci_internal.reserve_working_memory_slot(p_entry.namespace_id, p_entry.key, p_entry.space, v_now);
    insert into loci_data.working_memory as w (namespace_id, key, space, agent_id, value, category, tags,
                                               stored_at, expires_at, document, terms)
    values (p_entry.namespace_id, p_entry.key, p_entry.space, v_agent, p_entry.value, p_entry.category, p_entry.tags,
            v_now, v_now + p_life, p_entry.document, p_entry.terms)
    on conflict (namespace_id, key) do update
    set agent_id = excluded.agent_id, value = excluded.value, category = excluded.category, tags = excluded.tags,
        stored_at = excluded.stored_at, expires_at = excluded.expires_at, document = excluded.document,
        terms = excluded.terms
    where w.expires_at <= v_now or w.agent_id = v_agent or loci_internal.owns_space(p_entry.namespace_id, p_entry.space)
    returning w.* into v_written;
    if not found then
        raise serialization_failure using message = 'the entry was renewed by its owner meanwhile', hint = 'Try again.';
    end if;
    return v_written;
end $$;
comment on function loci_internal.insert_working_memory_entry(loci_data.working_memory, interval) is
    'Write an entry of working memory that is not there; the entry as written.';

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

-- Delete what has expired among the next p_limit entries after a key, over all namespaces; where to go on, null at the
-- end. Readers never see expired entries, so nothing waits for this; it keeps the table small where nobody writes any
-- more. Walks the primary key: an index on expires_at would cost every write more than the walk does. An entry that a
-- writer holds is skipped, one that it has renewed stays. About 5 ms for 5,000 entries. Operator only. Errors: 42501.
create or replace function loci_api.sweep_working_memory(p_limit integer default 5000, p_after_id integer default 0,
                                                         p_after_key text default '')
returns table (swept bigint, next_id integer, next_key text)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_now timestamptz := clock_timestamp();
begin
    perform loci_internal.require_operator('sweep working memory');
    return query
    with page as materialized (
        select w.namespace_id, w.key, w.expires_at from loci_data.working_memory w
        where (w.namespace_id, w.key) > (p_after_id, p_after_key) order by w.namespace_id, w.key limit p_limit
    ), due as materialized (
        select w.namespace_id, w.key from loci_data.working_memory w
        join page p on p.namespace_id = w.namespace_id and p.key = w.key
        join loci_data.namespaces n on n.id = w.namespace_id  -- rows of one that is moving here come before it
        where p.expires_at <= v_now and w.expires_at <= v_now for update of w skip locked
    ), gone as (
        delete from loci_data.working_memory w using due d where w.namespace_id = d.namespace_id and w.key = d.key
        returning 1
    ), last as (
        select p.namespace_id, p.key from page p order by p.namespace_id desc, p.key desc limit case
            when (select count(*) from page) < p_limit then 0 else 1 end
    )
    select (select count(*) from gone), l.namespace_id, l.key from (values (1)) one(n) left join last l on true;
end $$;
comment on function loci_api.sweep_working_memory(integer, integer, text) is
    'Delete expired entries among the next p_limit after a key; how many, and where to go on (null: at the end). '
    'Operator only.';
