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
    from loci_data.aspects_to_sweep q order by q.namespace_id, q.aspect_id limit 1 for update skip locked;
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
