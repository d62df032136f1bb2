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
