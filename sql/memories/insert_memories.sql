-- New memories without a lineage, and their details.

-- Write items that name no lineage, all at once. Exact duplicates of each other or of what is open and current
-- reinforce that memory instead: see find_duplicates. The unique index memories_fold settles races: the loser of two
-- equal writers reinforces. Look-ups between items go through JSON objects, so that no plan depends on how many there
-- are. Errors: 40001.
create or replace function loci_internal.insert_memories(p_namespace_id integer, p_items loci_internal.memory_input[],
                                                         p_at timestamptz)
returns setof loci_internal.memory_outcome
language plpgsql volatile set search_path = ''
set enable_seqscan = off
as $$
declare
    v_known   jsonb; -- place of an item: id of the memory that says it
    v_written jsonb;
    v_agent   uuid := loci.current_agent();
begin
    v_known := loci_internal.find_duplicates(p_namespace_id, p_items, p_at);

    if v_known is not null then
        perform loci_internal.reinforce_memories(p_namespace_id, v_known, p_at);
    end if;

    with item as (
        select i as stated, row_number() over same as nth,
               count(*) over (partition by loci_internal.fold_key(i)) as times
        from unnest(p_items) i
        where i.lineage is null and i.fold_scope is not null and not
            coalesce(v_known ? i.ordinal::text, false)
        window same as (partition by loci_internal.fold_key(i) order by i.ordinal)
        union all
        select i, 1, 1 from unnest(p_items) i where i.lineage is null and i.fold_scope is null
    ), written as (
        insert into loci_data.memories as m overriding user value
        select (loci_internal.make_memory(p_namespace_id, i.stated,
                                           loci_internal.complete_memory_details((i.stated).details, null),
                                           i.times::integer, p_at, v_agent)).*
        from item i where i.nth = 1 order by (i.stated).ordinal
        on conflict (namespace_id, content_hash, fold_scope, category) where valid_to is null and status = 'active'
        do update set observations = m.observations + excluded.observations,
        last_observed_at = excluded.last_observed_at,
                      updated_at = excluded.updated_at
        returning m.content_hash, m.fold_scope, m.category, m.id
    )
    select jsonb_object_agg(encode(w.content_hash, 'hex') || ' ' || w.category || ' ' || w.fold_scope, w.id)
    into v_written from written w where w.fold_scope is not null;

    return query
    select i.ordinal, f.id, null::uuid, f.id <> i.id, null::text[], null::jsonb
    from unnest(p_items) i
    cross join lateral (
        select case when i.fold_scope is null then i.id
                    else coalesce(v_known ->> i.ordinal::text, v_written ->> loci_internal.fold_key(i))::uuid end
    ) f(id)
    where i.lineage is null;
end $$;
comment on function loci_internal.insert_memories(integer, loci_internal.memory_input[], timestamptz) is
    'Insert memories without a lineage, folding exact duplicates.';

-- Memories that are stated again count one observation more for each time. p_known: place of an item → id of the memory
-- that says it. Errors: 40001 (one of them is gone).
create or replace function loci_internal.reinforce_memories(p_namespace_id integer, p_known jsonb, p_at timestamptz)
returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_found integer;
begin
    update loci_data.memories m
    set observations = m.observations + r.times, last_observed_at = p_at, updated_at = p_at
    from (select k.value::uuid as id, count(*)::integer as times from jsonb_each_text(p_known) k
          group by 1 order by 1) r
    where m.namespace_id = p_namespace_id and m.id = any (array(select value::uuid from jsonb_each_text(p_known)))
      and m.id = r.id;
    get diagnostics v_found = row_count;
    if v_found < (select count(distinct k.value) from jsonb_each_text(p_known) k) then
        raise serialization_failure using message = 'a memory was erased while it was written again',
            hint = 'Try again.';
    end if;
end $$;
comment on function loci_internal.reinforce_memories(integer, jsonb, timestamptz) is
    'Count items that state a memory again as observations of it.';

-- Write one item that names no lineage, and return its row; null where a memory says exactly that already, or another
-- writer is about to: insert_memories settles that. Three index look-ups and a row.
create or replace function loci_internal.insert_memory(p_namespace_id integer, p_item loci_internal.memory_input,
                                                       p_at timestamptz) returns loci_data.memories
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_memory loci_data.memories;
begin
    if loci_internal.find_duplicates(p_namespace_id, array[p_item], p_at) is null then
        insert into loci_data.memories as m overriding user value
        select (loci_internal.make_memory(p_namespace_id, p_item,
                                           loci_internal.complete_memory_details(p_item.details, null), 1, p_at,
                                           loci.current_agent())).*
        on conflict (namespace_id, content_hash, fold_scope, category) where valid_to is null and status = 'active'
        do nothing
        returning m.* into v_memory;
    end if;
    return v_memory;
end $$;
comment on function loci_internal.insert_memory(integer, loci_internal.memory_input, timestamptz) is
    'Insert a memory without a lineage; null where one says exactly the same.';

-- The row of a new memory without a lineage, in the order of the table's columns, of which the details are the last.
-- Inlines.
create or replace function loci_internal.make_memory(
    p_namespace_id integer, p_item loci_internal.memory_input, p_details loci.memory_details, p_times integer,
    p_at timestamptz, p_agent uuid)
returns loci_data.memories
language sql immutable parallel safe
as $$
    select row(p_namespace_id, p_item.id, null, p_item.id::text, p_item.id, 1, p_item.content, p_item.content_hash,
               p_item.fold_scope, coalesce(p_item.valid_from, p_at), p_item.valid_to, p_at, p_at, null, 'active',
               p_item.source, p_item.session_id, p_times, p_at, p_agent, p_at,
               p_details.category, p_details.tags, p_details.layer, p_details.importance, p_details.confidence,
               p_details.metadata, p_details.about)::loci_data.memories
$$;
comment on function loci_internal.make_memory(integer, loci_internal.memory_input, loci.memory_details, integer,
                                              timestamptz, uuid) is
    'Row of a new memory without a lineage.';

-- Lock the lineages that items name, in order of name, and make those that are not there yet. The name may be the id of
-- a memory without one; asked only with the lock, because an erasure may have held it. Index look-ups, planned for any
-- namespace: in one that the statistics do not know yet, every index that begins with it looks as good.
create or replace function loci_internal.lock_lineages(p_namespace_id integer, p_items loci_internal.memory_input[])
returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    insert into loci_data.lineages as l (namespace_id, lineage, id, versions)
    select distinct on (i.lineage) p_namespace_id, i.lineage, i.id, 0 from unnest(p_items) i where i.lineage is not null
    order by i.lineage, i.ordinal
    on conflict (namespace_id, lineage) do update set versions = l.versions;
    if found then
        update loci_data.lineages l set id = m.lineage_id, versions = m.version, written_at = m.recorded_at
        from (select distinct u.lineage from unnest(p_items) u where u.lineage is not null) i
        cross join lateral (select o.lineage_id, o.version, o.recorded_at from loci_data.memories o
                            where o.namespace_id = p_namespace_id and o.lineage = i.lineage
                            order by o.version desc limit 1) m
        where l.namespace_id = p_namespace_id and l.lineage = i.lineage and l.versions = 0;
    end if;
end $$;
comment on function loci_internal.lock_lineages(integer, loci_internal.memory_input[]) is
    'Lock the lineages that items name, and make new ones.';

-- Details of a new memory or version: as stated, else for some of them those of the latest version (null: there is
-- none), else the default. Inlines.
create or replace function loci_internal.complete_memory_details(p_stated loci.memory_details,
                                                                 p_latest loci.memory_details)
                                                                     returns loci.memory_details
language sql immutable parallel safe
as $$
    select row(coalesce((p_stated).category, (p_latest).category, 'general'),
               coalesce((p_stated).tags, (p_latest).tags, '{}'),
               coalesce((p_stated).layer, (p_latest).layer, 2),
               coalesce((p_stated).importance, (p_latest).importance, 0.5),
               coalesce((p_stated).confidence, 1.0), coalesce((p_stated).metadata, (p_latest).metadata, '{}'),
               coalesce((p_stated).about, (p_latest).about))::loci.memory_details
$$;
comment on function loci_internal.complete_memory_details(loci.memory_details, loci.memory_details) is
    'Details as stated, else those of the latest version, else the defaults.';

-- Trigger: a category with a segment of white space alone is refused. As a trigger, and not as a constraint of the
-- table, because memories that were kept before keep theirs. Errors: 23514.
create or replace function loci_internal.refuse_blank_category() returns trigger
language plpgsql
as $$
begin
    raise check_violation using constraint = 'memories_category_check', column = 'category',
        message = format('category must not have a blank segment; it is %L', new.category);
end $$;
comment on function loci_internal.refuse_blank_category() is
    'Trigger: refuse categories with blank segments.';

create or replace trigger memories_category_added before insert on loci_data.memories
    for each row when (new.category ~ '(^|/)\s+(/|$)') execute function loci_internal.refuse_blank_category();

create or replace trigger memories_category_changed before update on loci_data.memories
    for each row when (new.category ~ '(^|/)\s+(/|$)' and new.category is distinct from old.category)
    execute function loci_internal.refuse_blank_category();
