-- Items of a write, as they are read.

-- The items of a write, typed: one scan of the JSON. An item that states no valid_from and is no episode may fold into
-- an exact duplicate. Metadata of null are none, and those that are not stated are inherited. An item that corrects or
-- replaces a memory is written to its lineage. round: how many items of the same lineage stand before it, so that a
-- round never has two. Errors: 22023 with the item's position and field.
create or replace function loci_internal.parse_memories(p_namespace_id integer, p_items jsonb)
returns loci_internal.memory_input[]
language sql volatile set search_path = ''
as $$
    select array_agg(row(i.*)::loci_internal.memory_input order by i.ordinal)
    from (
        select (i.ordinal - 1)::integer as ordinal,
               row_number() over (partition by i.lineage order by i.ordinal)::integer,
               coalesce(i.id, loci_api.uuid7()), i.content, loci_internal.content_hash(i.content),
               case when (i.details).layer = 3 or i.valid_from is not null or i.valid_to is not null
                   or i.corrects is not null then null
                    else coalesce(i.lineage, loci_internal.wording_scope(i.content, (i.details).about, i.source,
                                                                         c.agent)) end,
               i.lineage, i.parent_id, i.valid_from, i.valid_to, i.source, i.session_id, i.embedding, i.corrects,
               null::timestamptz, null::uuid, false, null::uuid, null::timestamptz, false,
               coalesce(i.on_duplicate, 'reinforce'), i.details
        from (
            select u.id, u.content, -- only what corrects something is looked up: without statistics that may read all
                   case when u.replaces is not null
                       then loci_internal.lineage_to_replace(p_namespace_id, u.replaces, u.lineage)
                       else coalesce(u.lineage, (select m.lineage from loci_data.memories m where u.corrects is not null
                                                 and m.namespace_id = p_namespace_id and m.id = u.corrects),
                                     u.corrects::text) end as lineage,
                   u.parent_id, u.valid_from, u.valid_to, loci_internal.speaker_of(u.source, u."user") as source,
                   u.session_id, u.embedding, u.corrects, u.on_duplicate, jsonb_populate_record(
                       null::loci.memory_details, case when u.item ->> 'about' is null then u.item
                           else loci_internal.name_subject(p_namespace_id, u.item) end
                           || case when u.item -> 'metadata' = 'null' then '{"metadata": {}}'::jsonb else '{}' end
                   ) as details,
                   u.ordinal
            from rows from (jsonb_to_recordset(p_items) as (
                     id uuid, content text, lineage text, parent_id uuid, valid_from timestamptz, valid_to timestamptz,
                     source text, session_id text, embedding real[], corrects uuid, replaces uuid, on_duplicate text,
                     "user" text),
                     jsonb_array_elements(p_items)) with ordinality
                 as u(id, content, lineage, parent_id, valid_from, valid_to, source, session_id, embedding, corrects,
                      replaces, on_duplicate, "user", item, ordinal) offset 0) i  -- columns: calls inline
        cross join (select loci.current_agent() as agent offset 0) c
    ) i
$$;
comment on function loci_internal.parse_memories(integer, jsonb) is
    'JSON array of memory items as memory_input[].';

-- The lineage of the memory that an item replaces. Errors: P0002, 22023 (replaces).
create or replace function loci_internal.lineage_to_replace(p_namespace_id integer, p_id uuid, p_stated text)
returns text
language plpgsql stable set search_path = ''
as $$
declare
    v_lineage text;
begin
    select m.lineage into v_lineage from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = p_id;
    if not found then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'replaces';
    elsif v_lineage <> p_stated then
        raise invalid_parameter_value using column = 'replaces',
            message = format('memory %s is a version of lineage %L, not of %L', p_id, v_lineage, p_stated);
    end if;
    return v_lineage;
end $$;
comment on function loci_internal.lineage_to_replace(integer, uuid, text) is
    'The lineage of the memory that a new one replaces. Errors: P0002, 22023.';

-- An item with the name of the entity that it states to be about, where it gives an id. Errors: P0002 (about).
create or replace function loci_internal.name_subject(p_namespace_id integer, p_item jsonb) returns jsonb
language plpgsql stable set search_path = ''
as $$
declare
    v_name text;
begin
    if p_item ->> 'about' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        select e.name into v_name from loci_data.entities e
        where e.namespace_id = p_namespace_id
          and e.id = loci_internal.surviving_entity_id(p_namespace_id, (p_item ->> 'about')::uuid);
        if v_name is null then
            raise no_data_found using column = 'about',
                message = format('entity %s does not exist', p_item ->> 'about');
        end if;
        return jsonb_set(p_item, '{about}', to_jsonb(v_name));
    end if;
    return p_item;
end $$;
comment on function loci_internal.name_subject(integer, jsonb) is
    'An item whose subject is given by its name. Errors: P0002.';

-- Does an item say nothing but its content, what is said about that, and who said it where: no lineage, time, place,
-- entity or vector, and nothing that is not known here? Pure, inlines.
create or replace function loci_internal.is_plain_item(p_item jsonb) returns boolean
language sql immutable parallel safe
return p_item - array['content', 'category', 'tags', 'layer', 'importance', 'confidence', 'metadata', 'source',
                      'session_id', 'user'] = '{}';
comment on function loci_internal.is_plain_item(jsonb) is
    'Whether an item is a row by itself.';
