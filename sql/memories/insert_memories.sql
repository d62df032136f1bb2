-- Write items that name no lineage, all at once. Exact duplicates of each other or of what is open and current
-- reinforce that memory instead: see find_duplicates. The unique index memories_fold settles races: the loser of two
-- equal writers reinforces. Rows are written whole, in the order of the table's columns, of which the details are the
-- last. Look-ups between items go through JSON objects, so that no plan depends on how many there are. Errors: 40001.
create or replace function loci_internal.insert_memories(p_namespace_id integer, p_items loci_internal.memory_input[],
                                                         p_at timestamptz)
returns setof loci_internal.memory_outcome
language plpgsql volatile set search_path = ''
set enable_seqscan = off
as $$
declare
    v_known   jsonb; -- place of an item: id of the memory that says it
    v_written jsonb;
    v_found   integer;
begin
    v_known := loci_internal.find_duplicates(p_namespace_id, p_items, p_at);

    if v_known is not null then
        update loci_data.memories m
        set observations = m.observations + r.times, last_observed_at = p_at, updated_at = p_at
        from (select k.value::uuid as id, count(*)::integer as times from jsonb_each_text(v_known) k
              group by 1 order by 1) r
        where m.namespace_id = p_namespace_id and m.id = any (array(select value::uuid from jsonb_each_text(v_known)))
          and m.id = r.id;
        get diagnostics v_found = row_count;
        if v_found < (select count(distinct k.value) from jsonb_each_text(v_known) k) then
            raise serialization_failure using message = 'a memory was erased while it was written again',
                hint = 'Try again.';
        end if;
    end if;

    with item as (
        select i.*, row_number() over same as nth, count(*) over (partition by loci_internal.fold_key(i)) as times
        from unnest(p_items) i
        where i.lineage is null and i.fold_scope is not null and not
            coalesce(v_known ? i.ordinal::text, false)
        window same as (partition by loci_internal.fold_key(i) order by i.ordinal)
        union all
        select i.*, 1, 1 from unnest(p_items) i where i.lineage is null and i.fold_scope is null
    ), written as (
        insert into loci_data.memories as m overriding user value
        select p_namespace_id, i.id, null, i.id::text, i.id, 1, i.content, i.content_hash, i.fold_scope,
               coalesce(i.valid_from, p_at),
               i.valid_to, p_at, p_at, null, 'active', i.source, i.session_id, i.times, p_at,
               (select loci.current_agent()), p_at,
               (loci_internal.complete_memory_details(i.details, null)).*
        from item i where i.nth = 1 order by i.ordinal
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

-- By what are two items one memory: content, category, and what their words leave open (wording_scope). Pure, inlines.
create or replace function loci_internal.fold_key(p_item loci_internal.memory_input) returns text
language sql immutable parallel safe
return encode((p_item).content_hash, 'hex') || ' ' || coalesce(((p_item).details).category, 'general') || ' '
       || (p_item).fold_scope;
comment on function loci_internal.fold_key(loci_internal.memory_input) is
    'Fields that exact duplicates have in common.';

-- Which memory says exactly what an item says that may fold, of the same subject and party, and in the category that
-- the item states, if it states one? One that is open, or lasts until a version that was announced begins. By the
-- place of the item; null where there is none. One probe of memories_fold an item, and one of memories_announced.
-- Without sorts, because only that index has the scopes in order: in a namespace that the statistics do not know
-- yet, every index that begins with the namespace looks as good, and reads all of it.
create or replace function loci_internal.find_duplicates(p_namespace_id integer, p_items loci_internal.memory_input[],
                                                         p_at timestamptz) returns jsonb
language sql stable set search_path = '' set enable_seqscan = off set enable_sort = off
as $$
    select jsonb_object_agg(i.ordinal, coalesce(k.id, a.id))
    from unnest(p_items) i
    left join lateral (
        select m.id from loci_data.memories m
        where i.lineage is null and i.fold_scope is not null
          and m.namespace_id = p_namespace_id and m.content_hash = i.content_hash
          and m.valid_to is null and m.status = 'active' and m.layer <> 3 and m.valid_from <= p_at
          and m.category = coalesce((i.details).category, m.category)
          and loci_internal.wording_scope(m.content, m.about, m.source, m.created_by) = i.fold_scope
        order by m.fold_scope, m.category limit 1) k on true
    left join lateral (
        select m.id from loci_data.memories m
        where k.id is null and i.lineage is null and i.fold_scope is not null
          and m.namespace_id = p_namespace_id and m.content_hash = i.content_hash
          and m.valid_to is not null and m.superseded_at is null and m.status = 'active' and m.fold_scope is not null
          and m.layer <> 3 and m.valid_from <= p_at and m.valid_to > p_at
          and m.category = coalesce((i.details).category, m.category)
          and loci_internal.wording_scope(m.content, m.about, m.source, m.created_by) = i.fold_scope
          and exists (select from loci_data.memories n
                      where n.namespace_id = p_namespace_id and n.lineage_id = m.lineage_id and n.status = 'active'
                        and n.valid_from = m.valid_to offset 0)
        limit 1) a on true
    where coalesce(k.id, a.id) is not null
$$;
comment on function loci_internal.find_duplicates(integer, loci_internal.memory_input[], timestamptz) is
    'Items that a current memory says exactly, by their place, each with the id of that memory.';
