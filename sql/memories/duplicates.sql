-- Duplicates: how they are found, refused, and joined.

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

-- Trigger: refuse to make a memory current again while another says exactly the same; the error names that one. The
-- unique index memories_fold is what guards: see change_memories. One probe of that index, for such a change alone.
create or replace function loci_internal.refuse_duplicate() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    perform loci_internal.refuse_duplicates_of(new);
    return new;
end $$;
comment on function loci_internal.refuse_duplicate() is
    'Trigger: refuse that a memory becomes current beside one that says exactly the same.';

create or replace trigger memories_duplicate before update on loci_data.memories
    for each row when (new.status = 'active' and new.valid_to is null and new.fold_scope is not null
                       and (old.status <> 'active' or old.valid_to is not null
                            or old.fold_scope is distinct from new.fold_scope
                            or old.category is distinct from new.category))
    execute function loci_internal.refuse_duplicate();

-- Refuse a memory that would be current beside another that says exactly the same, naming that one. A probe of
-- memories_fold. Errors: 23505.
create or replace function loci_internal.refuse_duplicates_of(p_memory loci_data.memories) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_other uuid;
begin
    select m.id into v_other from loci_data.memories m
    where m.namespace_id = p_memory.namespace_id and m.content_hash = p_memory.content_hash
      and m.fold_scope = p_memory.fold_scope and m.category = p_memory.category
      and m.valid_to is null and m.status = 'active' and m.id <> p_memory.id
      and p_memory.status = 'active' and p_memory.valid_to is null;
    if found then
        raise unique_violation using message = format('memory %s says exactly the same and took its place', v_other),
            column = 'id', hint = 'Forget that one first, or keep it instead.';
    end if;
end $$;
comment on function loci_internal.refuse_duplicates_of(loci_data.memories) is
    'Refuse a memory that would be current beside one that says exactly the same. Errors: 23505.';

-- Identity of a content for exact duplicates: its composed form (NFC) counts. Immutable, because the encoding of a
-- database never changes.
create or replace function loci_internal.content_hash(p_content text) returns bytea
language sql immutable parallel safe
return sha256(convert_to(case when octet_length(p_content) = length(p_content) or p_content is nfc normalized
                              then p_content else normalize(p_content, nfc) end, 'UTF8'));
comment on function loci_internal.content_hash(text) is
    'SHA-256 of the UTF-8 bytes of a content in composed form (NFC).';

-- What becomes of what repeated items state otherwise than the memory that took them in? on_duplicate of the item says:
-- reinforce (the default) leaves the memory as it is; update lets it have the details, the parent and the vector that
-- are stated, each as the last of several items has it; refuse refuses the write. The outcomes name the fields that
-- were stated otherwise and not taken over (ignored); a vector is named if it was stated at all. Two look-ups by
-- primary key a duplicate. Errors: 23505 (memories_duplicate).
create or replace function loci_internal.apply_on_duplicate(
    p_namespace_id integer, p_items loci_internal.memory_input[], p_outcomes loci_internal.memory_outcome[],
    p_at timestamptz)
returns loci_internal.memory_outcome[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_same uuid := (select o.id from unnest(p_outcomes) o join unnest(p_items) i on i.ordinal = o.ordinal
                    where o.duplicate and i.on_duplicate = 'refuse' order by o.ordinal limit 1);
    v_one  record;
    v_item loci_internal.memory_input;
begin
    if v_same is not null then
        raise unique_violation using constraint = 'memories_duplicate', column = 'content',
            message = format('memory %s says the same', v_same),
            hint = 'Write it with on_duplicate "reinforce" or "update", or change that memory.';
    end if;
    -- a memory is changed once, however often it was repeated: every version of a row would be read for the next one
    for v_one in
        with asked as materialized (
            select o.id, o.ordinal, i from unnest(p_outcomes) o join unnest(p_items) i on i.ordinal = o.ordinal
            where o.duplicate and i.on_duplicate = 'update'
        ), stated as (
            select a.id, jsonb_object_agg(d.key, d.value order by a.ordinal) as details
            from asked a cross join lateral jsonb_each(loci_internal.stated_details(a.i)) d group by a.id
        )
        select a.id, (array_agg(a.i order by a.ordinal desc))[1] as item, coalesce(s.details, '{}') as details,
               (array_agg(a.i order by a.ordinal desc) filter (where (a.i).parent_id is not null))[1] as placed,
               (array_agg(a.i order by a.ordinal desc) filter (where (a.i).embedding is not null))[1] as embedded
        from asked a left join stated s on s.id = a.id group by a.id, s.details order by min(a.ordinal)
    loop
        v_item := v_one.item;
        v_item.details := jsonb_populate_record(null::loci.memory_details, v_one.details);
        v_item.parent_id := (v_one.placed).parent_id;
        v_item.embedding := (v_one.embedded).embedding;
        perform loci_internal.update_duplicate(p_namespace_id, v_item, v_one.id, p_at);
    end loop;
    return array(
        select (o.ordinal, o.id, o.superseded, o.duplicate, case when o.duplicate then coalesce(l.ignored, '{}') end,
                o.cut_short)::loci_internal.memory_outcome
        from unnest(p_outcomes) o
        left join lateral (
            select array_agg(f.name order by f.name) as ignored
            from unnest(p_items) i
            cross join lateral (select w.* from loci_data.memories w
                                where w.namespace_id = p_namespace_id and w.id = o.id limit 1) m
            cross join lateral loci_internal.fields_stated_otherwise(i, m) f(name)
            where i.ordinal = o.ordinal) l on o.duplicate
        order by o.ordinal);
end $$;
comment on function loci_internal.apply_on_duplicate(integer, loci_internal.memory_input[],
                                                    loci_internal.memory_outcome[], timestamptz) is
    'Refuse duplicates or let them update the memory that took them in, as items ask; says what was not taken over.';

-- Errors: 22023 where an item asks for something else to become of a duplicate.
create or replace function loci_internal.check_on_duplicate(p_items loci_internal.memory_input[]) returns void
language plpgsql immutable parallel safe
as $$
declare
    v_wrong text := (select i.on_duplicate from unnest(p_items) i
                     where i.on_duplicate not in ('reinforce', 'update', 'refuse') order by i.ordinal limit 1);
begin
    if v_wrong is not null then
        raise invalid_parameter_value using column = 'on_duplicate',
            message = format('on_duplicate must be reinforce, update or refuse, not %L', v_wrong);
    end if;
end $$;
comment on function loci_internal.check_on_duplicate(loci_internal.memory_input[]) is
    'Refuse items whose on_duplicate is unknown.';

-- Let a memory, which its writer has locked, have the details, the parent and the vector that a repetition states.
create or replace function loci_internal.update_duplicate(p_namespace_id integer, p_item loci_internal.memory_input,
                                                          p_id uuid, p_at timestamptz) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_fields constant text[] := array(
        select f from unnest(array(select loci_internal.fields_stated_otherwise(p_item, m) from loci_data.memories m
                                   where m.namespace_id = p_namespace_id and m.id = p_id)) f);
    v_old    loci_data.memories;
    v_new    loci_data.memories;
begin
    select * into v_old from loci_data.memories where namespace_id = p_namespace_id and id = p_id;
    v_new := jsonb_populate_record(v_old, loci_internal.stated_details(p_item));
    if v_new.layer <> v_old.layer or 'parent_id' = any (v_fields) then
        perform loci_internal.lock_hierarchy(p_namespace_id, true);
    end if;
    if v_new is distinct from v_old then
        v_new.updated_at := p_at;
        perform count(*) from loci_internal.change_memories(p_namespace_id, array[v_new]);
    end if;
    if 'parent_id' = any (v_fields) then
        perform loci_internal.place_lineage(
            p_namespace_id, v_old.lineage_id,
            loci_internal.lineage_id_of(p_namespace_id, p_item.parent_id, 'parent_id'),
            greatest(v_old.valid_from, p_at), v_old.valid_to, p_at);
    end if;
    if p_item.embedding is not null then
        perform loci_internal.upsert_memory_vectors(p_namespace_id, array[p_id],
                                                    array[p_item.embedding::public.halfvec]);
    end if;
end $$;
comment on function loci_internal.update_duplicate(integer, loci_internal.memory_input, uuid, timestamptz) is
    'Let a memory have what a repetition of it states.';

-- The details that an item states. Pure.
create or replace function loci_internal.stated_details(p_item loci_internal.memory_input) returns jsonb
language sql immutable parallel safe
as $$
    select coalesce(jsonb_object_agg(d.key, d.value), '{}') from jsonb_each(to_jsonb((p_item).details)) d
    where d.value <> 'null'
$$;
comment on function loci_internal.stated_details(loci_internal.memory_input) is 'Details that an item states, as JSON.';

-- Which fields does an item state otherwise than a memory has them? The order of tags means nothing; a parent is any
-- version of it. Two look-ups by index where a parent is stated.
create or replace function loci_internal.fields_stated_otherwise(p_item loci_internal.memory_input,
                                                                 p_memory loci_data.memories) returns setof text
language sql stable
as $$
    select d.key from jsonb_each(loci_internal.stated_details(p_item)) d
    cross join lateral (select to_jsonb(loci.memory_details(p_memory)) -> d.key as value) m
    where d.value <> m.value and not (d.key = 'tags' and d.value @> m.value and d.value <@ m.value)
      and not (d.key = 'about' and loci.canonical_name(d.value #>> '{}')
                                   = loci.canonical_name(loci.memory_about(p_memory)))
    union all
    select 'parent_id' where (p_item).parent_id is not null and not exists (
        select from loci_internal.parent_of(p_memory, clock_timestamp(), null) p
        join loci_data.memories a on a.namespace_id = (p_memory).namespace_id and a.id = p.parent_id
        join loci_data.memories b on b.namespace_id = a.namespace_id and b.id = (p_item).parent_id
        where a.lineage_id = b.lineage_id)
    union all
    select v.name from (values ('source', (p_item).source, (p_memory).source),
                               ('session_id', (p_item).session_id, (p_memory).session_id)) v(name, stated, there)
    where v.stated <> coalesce(v.there, '')
    union all
    select 'embedding' where (p_item).embedding is not null and (p_item).on_duplicate <> 'update'
$$;
comment on function loci_internal.fields_stated_otherwise(loci_internal.memory_input, loci_data.memories) is
    'Names of fields that an item states otherwise than a memory has them.';
