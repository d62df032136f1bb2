-- What becomes of what repeated items state otherwise than the memory that took them in? on_duplicate of the item says:
-- reinforce (the default) leaves the memory as it is; update lets it have the details, the parent and the vector that
-- are stated, each as the last of several items has it; refuse refuses the write. The outcomes come back with the names
-- of the fields that were stated otherwise and not taken over (ignored); of a vector that is only that it was stated.
-- Two look-ups by primary key a duplicate. Errors: 23505 (memories_duplicate).
create or replace function loci_internal.settle_duplicates(
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
comment on function loci_internal.settle_duplicates(integer, loci_internal.memory_input[],
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
