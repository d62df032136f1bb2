-- Changes of edges: corrections, deletion, end.

-- Correct an edge: {confidence?, strength?, valid_from?, valid_to?}. confidence is what it is worth from now on,
-- decaying from here; of moments before anybody had spoken of it, too. valid_from and valid_to correct the spell of
-- now, or the last before; valid_to null: it goes on; the two equal: it was never true. Both are a row of its evidence
-- that counts as no observation: known_at before shows what was believed, and undoing the operation takes it back.
-- strength is a present figure. A later observation in a new conversation restores confidence as ever. Rivals follow
-- where the type has one target at a time. Security definer: writes past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023.
create or replace function loci_api.update_edge(p_namespace text, p_id uuid, p_changes jsonb)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision, strength double precision, faded boolean, observations integer,
               first_observed_at timestamptz, last_observed_at timestamptz, restored_at timestamptz,
               fades_at timestamptz, valid_from timestamptz, valid_to timestamptz, recorded_at timestamptz,
               superseded_at timestamptz, metadata jsonb, aspect text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'writer');
    v_at    timestamptz;
    v_edge  loci_data.edges;
    v_spell record;
begin
    perform loci_internal.check_edge_changes(p_changes);
    perform loci_internal.current_operation_id();  -- of which the correction is
    perform from loci_data.entities s
    where s.namespace_id = v_ns and s.id = (select e.source_id from loci_data.edges e
                                            where e.namespace_id = v_ns and e.id = p_id) for no key update;
    select * into v_edge from loci_data.edges e
    where e.namespace_id = v_ns and e.id = p_id and e.superseded_at is null for no key update;
    if not found then
        raise no_data_found using message = format('edge %s does not exist', p_id), column = 'id';
    end if;
    v_at := greatest(clock_timestamp(), v_edge.updated_at + interval '1 microsecond');
    if p_changes ?| '{valid_from,valid_to}' then
        v_spell := loci_internal.corrected_spell(v_ns, p_id, p_changes, v_at);
    else
        select null::tstzrange as corrects, null::timestamptz as valid_from, null::timestamptz as valid_to
        into v_spell;
    end if;
    insert into loci_data.edge_observations (namespace_id, id, edge_id, observed_at, valid_from, valid_to, confidence,
                                             reinforcement, recorded_at, corrects, keeps_end)
    select v_ns, loci_api.uuid7(), p_id, greatest(v_at, v_edge.last_observed_at), v_spell.valid_from, v_spell.valid_to,
           (p_changes ->> 'confidence')::double precision, 'corrected', v_at, v_spell.corrects,
           case when v_spell.corrects is not null then not p_changes ? 'valid_to' end
    where p_changes ?| '{confidence,valid_from,valid_to}';
    update loci_data.edges e set strength = (p_changes ->> 'strength')::double precision, updated_at = v_at
    where p_changes ? 'strength' and e.namespace_id = v_ns and e.id = p_id;
    perform loci_internal.refold_edges(v_ns, array[p_id], v_at);
    return query select r.* from loci_internal.edge_rows(v_ns, array[p_id], greatest(v_at, v_edge.last_observed_at),
                                                         'infinity') r;
end $$;
comment on function loci_api.update_edge(text, uuid, jsonb) is
    'Correct confidence, strength and validity of an edge: {confidence?, strength?, valid_from?, valid_to?}; returns '
    'it. Errors: 42501, P0002, 22023.';

-- May an edge be changed so? Errors: 22023 naming the field.
create or replace function loci_internal.check_edge_changes(p_changes jsonb) returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_wrong record;
begin
    select c.key as field, c.value as given, x.expected into v_wrong
    from jsonb_each(p_changes) c
    cross join lateral (select case
        when c.key in ('confidence', 'strength') then
            case when jsonb_typeof(c.value) = 'number' and (c.value)::numeric between 0 and 1 then null
                 else 'a number from 0 to 1' end
        when c.key = 'valid_to' and c.value = 'null' then null
        when c.key in ('valid_from', 'valid_to') then
            case when isfinite((c.value #>> '{}')::timestamptz) then null else 'a finite time' end
        else 'left out: confidence, strength, valid_from and valid_to can be corrected' end) x(expected)
    where x.expected is not null order by c.key limit 1;
    if found then
        raise invalid_parameter_value using column = v_wrong.field,
            message = format('%s must be %s; it is %s', v_wrong.field, v_wrong.expected, v_wrong.given);
    elsif p_changes = '{}' then
        raise invalid_parameter_value using column = 'confidence',
            message = 'at least one of confidence, strength, valid_from and valid_to is needed';
    end if;
end $$;
comment on function loci_internal.check_edge_changes(jsonb) is
    'Refuse corrections of an edge that correct nothing. Errors: 22023.';

-- What does a correction of validity say, and for which spell does it stand? That of the moment, or the last before, or
-- the first, as the edge's own evidence has it, without its rivals; it stands until the next spell begins. Fields
-- that are not stated stay. Errors: 22023.
create or replace function loci_internal.corrected_spell(
    p_namespace_id integer, p_edge_id uuid, p_changes jsonb, p_at timestamptz, out corrects tstzrange,
    out valid_from timestamptz, out valid_to timestamptz)
language plpgsql stable set search_path = ''
as $$
declare
    v_spells tstzmultirange := (loci_internal.fold_spells(p_namespace_id, array[p_edge_id], '{}', '{}')).spells[1];
    v_spell  tstzrange := loci_internal.spell_around(null, null, v_spells, p_at);
begin
    if v_spell is null then
        raise invalid_parameter_value using column = 'valid_from',
            message = format('edge %s is never valid, so its validity cannot be corrected', p_edge_id),
            hint = 'Observe it again, with valid_from.';
    end if;
    corrects := tstzrange(lower(v_spell), (select min(lower(s)) from unnest(v_spells) s where s >> v_spell));
    valid_from := coalesce((p_changes ->> 'valid_from')::timestamptz, lower(v_spell));
    valid_to := case when p_changes ? 'valid_to' then (p_changes ->> 'valid_to')::timestamptz else upper(v_spell) end;
    if valid_to < valid_from then
        raise invalid_parameter_value using column = case when p_changes ? 'valid_to' then 'valid_to'
                                                          else 'valid_from' end,
            message = format('valid_to (%s) must not be before valid_from (%s)', valid_to, valid_from);
    end if;
end $$;
comment on function loci_internal.corrected_spell(integer, uuid, jsonb, timestamptz) is
    'The spell that a correction of an edge stands for, and what it states. Errors: 22023.';

-- Take an edge back: it is no longer believed from now on, but stays for the record. Observing it again makes a new
-- one. Edges that had made way for it, of a type with one target at a time, go on. Security definer: writes past the
-- policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.delete_edge(p_namespace text, p_id uuid)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision, strength double precision, faded boolean, observations integer,
               first_observed_at timestamptz, last_observed_at timestamptz, restored_at timestamptz,
               fades_at timestamptz, valid_from timestamptz, valid_to timestamptz, recorded_at timestamptz,
               superseded_at timestamptz, metadata jsonb, aspect text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_at           timestamptz := clock_timestamp();
    v_seen         timestamptz;  -- of an observation that is dated ahead
begin
    perform from loci_data.entities s
    where s.namespace_id = v_namespace_id and s.id = (select e.source_id from loci_data.edges e
                                                      where e.namespace_id = v_namespace_id and e.id = p_id)
        for no key update;
    update loci_data.edges e set superseded_at = greatest(v_at, e.updated_at), updated_at = greatest(v_at, e.updated_at)
    where e.namespace_id = v_namespace_id and e.id = p_id and e.superseded_at is null
    returning e.last_observed_at into v_seen;
    if not found then
        raise no_data_found using message = format('edge %s does not exist', p_id), column = 'id';
    end if;
    perform loci_internal.refold_edges(v_namespace_id, array[p_id], v_at);
    return query select r.* from loci_internal.edge_rows(v_namespace_id, array[p_id], greatest(v_at, v_seen),
                                                         'infinity') r;
end $$;
comment on function loci_api.delete_edge(text, uuid) is
    'Stop believing an edge (superseded_at is set, the row stays); returns it. Errors: 42501, P0002.';

-- Stop believing edges, because others are recorded in their place. The caller holds their locks.
create or replace function loci_internal.close_edges(p_namespace_id integer, p_ids uuid[], p_at timestamptz)
returns void
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    update loci_data.edges e set superseded_at = greatest(p_at, e.updated_at), updated_at = greatest(p_at, e.updated_at)
    where e.namespace_id = p_namespace_id and e.id = any(p_ids) and e.superseded_at is null
$$;
comment on function loci_internal.close_edges(integer, uuid[], timestamptz) is
    'Take edges back at a moment.';
