-- Preference pass: inferred preferences are written.

-- Write preferences that a dream inferred: each is a new memory, more evidence for one that says the same (metadata,
-- one more observation), or a new version of one whose words change. p_items: [{id?, seen?, content, metadata}]; id:
-- the memory that it is about, seen: its updated_at when the model was shown it. Rows decide again, under their locks:
-- what is not as it was seen is refused (changed), so is other words for one that is protected (importance,
-- observations). One row an item, in order: what was done, or the guard that refused it and why. Locks as every writer:
-- lineages by name, memories by id. Security definer: writes past the policies; checks the caller itself. Errors:
-- 42501, P0002, 22023, 23514.
create or replace function loci_api.write_preferences(p_namespace text, p_items jsonb)
returns table (ordinal integer, action text, id uuid, superseded uuid, guard text, reason text)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'writer');
    v_set     jsonb := loci_internal.settings(v_ns);
    v_ids     uuid[] := array(select (i.value ->> 'id')::uuid from jsonb_array_elements(p_items) i
                              where i.value ->> 'id' is not null);
    v_item    jsonb;
    m         loci_data.memories;
begin
    perform from loci_data.lineages l
    where l.namespace_id = v_ns
      and l.lineage = any (array(select o.lineage from loci_data.memories o where o.namespace_id = v_ns
                                 and o.id = any (v_ids)))
    order by l.lineage for no key update;
    perform from loci_data.memories o where o.namespace_id = v_ns and o.id = any (v_ids) order by o.id
        for no key update;
    for ordinal in 0 .. jsonb_array_length(p_items) - 1 loop
        v_item := p_items -> ordinal;
        action := null; superseded := null; guard := null; reason := null;
        id := (v_item ->> 'id')::uuid;
        select o.* into m from loci_data.memories o where o.namespace_id = v_ns and o.id = write_preferences.id;
        if id is not null and (m.id is null or m.status <> 'active' or m.superseded_at is not null
                               or m.valid_to is not null
                               or m.updated_at is distinct from (v_item ->> 'seen')::timestamptz) then
            guard := 'changed';
            reason := 'the preference was changed or ended since the model was shown it';
        elsif id is not null and m.content = v_item ->> 'content' then
            update loci_data.memories o
            set metadata = o.metadata || (v_item -> 'metadata'), observations = o.observations + 1,
                last_observed_at = clock_timestamp(), updated_at = clock_timestamp()
            where o.namespace_id = v_ns and o.id = write_preferences.id;
            action := 'confirmed';
        elsif id is not null and (m.importance >= (v_set ->> 'protected_importance')::double precision
                                  or m.observations >= (v_set ->> 'protected_observations')::integer) then
            guard := 'protected';
            reason := format('the preference that it would replace is protected: importance %s, observed %s times',
                             m.importance, m.observations);
        else
            select r.action, r.id, r.superseded into action, id, superseded
            from loci_internal.remember_preference(v_ns, p_namespace, v_item, m) r;
        end if;
        return next;
    end loop;
end $$;
comment on function loci_api.write_preferences(text, jsonb) is
    'Write inferred preferences: new memories, more evidence, or new versions; what was refused says by which guard. '
    'Errors: 42501, P0002, 22023, 23514.';

-- Write a preference as a memory: a new one, or a new version of p_old. A memory in the same words by a person is
-- reinforced where it is. Errors: those of remember.
create or replace function loci_internal.remember_preference(p_namespace_id integer, p_namespace text, p_item jsonb,
                                                             p_old loci_data.memories)
returns table (action text, id uuid, superseded uuid)
language sql volatile set search_path = ''
as $$
    select case when r.duplicate then 'reinforced' when p_old.id is null then 'created' else 'superseded' end,
           r.id, r.superseded
    from loci_api.remember(p_namespace, jsonb_build_array(jsonb_build_object(
        'content', p_item -> 'content',
        'category', case when not exists (
            select from loci_data.memories o
            where o.namespace_id = p_namespace_id
              and o.content_hash = loci_internal.content_hash(p_item ->> 'content')
              and o.valid_to is null and o.status = 'active' and starts_with(o.category, 'user-preferences/'))
            then 'user-preferences/inferred' end,
        'tags', jsonb_build_array('inferred'), 'metadata', p_item -> 'metadata')
        || case when p_old.id is null then '{}'
                else jsonb_build_object('lineage', coalesce(p_old.lineage, p_old.id::text)) end)) r
$$;
comment on function loci_internal.remember_preference(integer, text, jsonb, loci_data.memories) is
    'Write a preference as a memory; what was done.';
