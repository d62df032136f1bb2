-- Supersession over time: later facts and the status of memories.

-- Find contradictions among facts that stand already: written while supersession was off or only proposed, before an
-- aspect was declared single-valued, restored, or moved by a merge. Visits p_limit active facts after the cursor, in
-- order of id, of one entity if asked, and does for each what its write does: same signals, same rules, and pairs
-- decided before are left alone. So a second sweep changes nothing, and pages can be run one transaction each. A model
-- may be asked about pairs that they leave open (supersession_model). p_mode: apply or propose; null: the namespace's
-- setting (off: proposes). decided: the decisions of this page; next_cursor null: all were visited. Aspects are locked
-- in order of id for the length of a page. Cost: 1 to 2 ms a fact; grows with the facts, not with their pairs. Security
-- definer: writes past the policies; checks the caller itself. Errors: 42501, P0002 (namespace, entity), 22023 (mode,
-- limit, cursor).
create or replace function loci_api.sweep_supersessions(
    p_namespace text, p_entity text default null, p_mode text default null, p_limit integer default 500,
    p_cursor text default null)
returns table (visited integer, decided uuid[], superseded uuid[], next_cursor text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_entity_id    uuid := (loci_internal.resolve_entities(v_namespace_id, array_remove(array[p_entity], null),
                                                           'entity'))[1];
    v_mode         text := coalesce(p_mode, nullif(loci_internal.settings(v_namespace_id) ->> 'supersession', 'off'),
                                    'propose');
    v_ids          uuid[];
    v_id           uuid;
    v_made         record;
begin
    if v_mode not in ('apply', 'propose') then
        raise invalid_parameter_value using message = format('mode must be apply or propose, not %L', p_mode),
            column = 'mode';
    end if;
    perform loci_internal.check_limit(p_limit, 10000);
    v_ids := loci_internal.next_active_facts(v_namespace_id, v_entity_id,
                                             coalesce((loci_internal.read_cursor(p_cursor, 'uuid'))[1]::uuid,
                                                      loci_internal.nil_uuid()), p_limit);
    perform from loci_data.aspects s where s.namespace_id = v_namespace_id and s.id = any (array(
        select distinct a.aspect_id from loci_data.attributes a where a.namespace_id = v_namespace_id
            and a.id = any (v_ids)))
    order by s.id for no key update;
    if loci_internal.settings(v_namespace_id) ->> 'supersession_model' <> 'off' then
        insert into loci_data.contradiction_queue (namespace_id, attribute_id) select v_namespace_id, i
        from unnest(v_ids) i order by i on conflict do nothing;
    end if;
    visited := cardinality(v_ids);
    decided := '{}';
    superseded := '{}';
    foreach v_id in array v_ids loop
        select s.* into v_made from loci_internal.supersede_siblings(v_namespace_id, v_id, 'sweep', v_mode, null,
                                                                     clock_timestamp()) s;
        decided := decided || v_made.applied || v_made.proposed;
        superseded := superseded || v_made.superseded;
    end loop;
    next_cursor := case when visited = p_limit then loci_internal.make_cursor(jsonb_build_array(v_ids[visited])) end;
    return next;
end $$;
comment on function loci_api.sweep_supersessions(text, text, text, integer, text) is
    'Visit a page of active facts and supersede what they contradict; facts visited, decisions, attributes '
    'superseded, cursor of the next page. Errors: 42501, P0002, 22023.';

-- The next active facts of a namespace, or of an entity, in order of id. Walks the primary key, or the entity's
-- aspects.
create or replace function loci_internal.next_active_facts(p_namespace_id integer, p_entity_id uuid, p_after uuid,
                                                           p_limit integer) returns uuid[]
language plpgsql stable set search_path = '' set enable_seqscan = off
as $$
begin
    if p_entity_id is null then
        return array(select a.id from loci_data.attributes a
                     where a.namespace_id = p_namespace_id and a.id > p_after and a.status = 'active'
                       and a.kind = 'attribute'
                     order by a.id limit p_limit);
    end if;
    return array(select a.id from loci_data.aspects s
                 cross join lateral (select i.id, i.kind from loci_data.attributes i
                                     where i.namespace_id = p_namespace_id and i.aspect_id = s.id
                                       and i.status = 'active' and i.id > p_after offset 0) a
                 where s.namespace_id = p_namespace_id and s.entity_id = p_entity_id and a.kind = 'attribute'
                 order by a.id limit p_limit);
end $$;
comment on function loci_internal.next_active_facts(integer, uuid, uuid, integer) is
    'Ids of the next active facts, in order.';

-- Bring all facts of a namespace in step with their memories and with the decisions about them: those that were
-- restored from elsewhere, or written before triggers saw to it. Says how many changed; else none. Reads the
-- namespace's attributes once. Security definer: writes past the policies; checks the caller itself. Errors: 42501,
-- P0002.
create or replace function loci_api.propagate_memory_status(p_namespace text) returns integer
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
begin
    return cardinality(loci_internal.refold_facts(v_namespace_id, array(
        select a.id from loci_data.attributes a
        cross join lateral loci_internal.fact_span(v_namespace_id, a.id) f
        cross join lateral loci_internal.fold_facts(v_namespace_id, array[a.id]) o
        where a.namespace_id = v_namespace_id
          and (a.own_to, a.status, a.superseded_by, a.valid_to)
              is distinct from (f.own_to, o.status, o.superseded_by, o.valid_to)), clock_timestamp()));
end $$;
comment on function loci_api.propagate_memory_status(text) is
    'Bring facts in step with their memories and decisions; how many changed. Errors: 42501, P0002.';

-- Compare the facts of aspects anew whose facts may contradict each other although each was compared at its write: an
-- aspect was declared single-valued, a merge or a split moved facts, they were restored from a file, or the setting
-- supersession was changed. Does for each active fact what sweep_supersessions does; where supersession is off,
-- nothing. The worker asks every 30 seconds. One aspect a call, of whichever namespace; those that another works at are
-- passed over. aspect_id null: none waits. Operator only. Security definer: works on all namespaces. Errors: 42501.
create or replace function loci_api.sweep_aspects()
returns table (namespace_id integer, aspect_id uuid, visited integer, superseded uuid[])
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_id   uuid;
    v_made uuid[];
begin
    perform loci_internal.require_operator('sweep facts');
    visited := 0;
    superseded := '{}';
    select q.namespace_id, q.aspect_id into namespace_id, aspect_id
    from loci_data.aspects_to_sweep q
    where exists (select from loci_data.namespaces n where n.id = q.namespace_id)  -- not one that is moving here
    order by q.namespace_id, q.aspect_id limit 1 for update skip locked;
    perform from loci_data.aspects p where p.namespace_id = sweep_aspects.namespace_id
        and p.id = sweep_aspects.aspect_id for no key update;
    for v_id in
        select a.id from loci_data.attributes a
        where a.namespace_id = sweep_aspects.namespace_id and a.aspect_id = sweep_aspects.aspect_id
          and a.status = 'active' and a.kind = 'attribute'
          and loci_internal.settings(sweep_aspects.namespace_id) ->> 'supersession' <> 'off'
        order by a.id
    loop
        select s.superseded into v_made from loci_internal.supersede_siblings(
            namespace_id, v_id, 'sweep', null, null, clock_timestamp()) s;
        visited := visited + 1;
        superseded := superseded || v_made;
    end loop;
    delete from loci_data.aspects_to_sweep q where q.namespace_id = sweep_aspects.namespace_id
        and q.aspect_id = sweep_aspects.aspect_id;
    return next;
end $$;
comment on function loci_api.sweep_aspects() is
    'Compare the facts of an aspect that waits for it; the aspect, facts visited, attributes superseded. Operator '
    'only.';

-- Trigger: the facts of an aspect are to be compared anew. On aspects and attributes, as named by the triggers below.
create or replace function loci_internal.queue_aspect_sweep() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
    insert into loci_data.aspects_to_sweep (namespace_id, aspect_id)
    values (new.namespace_id, (to_jsonb(new) ->> tg_argv[0])::uuid) on conflict do nothing;
    return null;
end $$;
comment on function loci_internal.queue_aspect_sweep() is
    'Trigger: let the worker compare the facts of an aspect.';

-- Trigger: another way to supersede is in force, and all aspects of the namespace are to be compared anew.
create or replace function loci_internal.queue_namespace_sweep() returns trigger
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
begin
    insert into loci_data.aspects_to_sweep (namespace_id, aspect_id)
    select new.id, p.id from loci_data.aspects p where p.namespace_id = new.id order by p.id on conflict do nothing;
    return null;
end $$;
comment on function loci_internal.queue_namespace_sweep() is
    'Trigger: let the worker compare the facts of all aspects of a namespace.';

-- A fact that was compared at its write is compared again when its siblings have changed.
create or replace trigger aspects_sweep after update on loci_data.aspects
    for each row when (old.single_valued is distinct from new.single_valued)
    execute function loci_internal.queue_aspect_sweep('id');

create or replace trigger attributes_moved_sweep after update on loci_data.attributes
    for each row when (old.aspect_id <> new.aspect_id)
    execute function loci_internal.queue_aspect_sweep('aspect_id');

create or replace trigger attributes_restored_sweep after insert on loci_data.attributes
    for each row when (current_setting('loci.restoring', true) = 'on')
    execute function loci_internal.queue_aspect_sweep('aspect_id');

create or replace trigger namespaces_sweep after update on loci_data.namespaces
    for each row when ((old.settings -> 'supersession', old.settings -> 'supersession_threshold')
                       is distinct from (new.settings -> 'supersession', new.settings -> 'supersession_threshold'))
    execute function loci_internal.queue_namespace_sweep();
