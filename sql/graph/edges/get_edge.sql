-- One edge with all that it rests on: as list_edges shows it at as_of, as known at known_at (null: now, as believed
-- now), whether it holds then or not; the spells in which it holds, and those that were believed before; its
-- observations, newest first, at most p_limit. One that rests on forgotten memories alone is not there. One that was
-- recorded anew since, because an end of it was merged or
-- split, is there by its old id, superseded. Primary keys. Security definer: past the policies; checks the caller
-- itself. Errors: 42501, P0002, 22023 (limit, a moment).
create or replace function loci.get_edge(p_namespace text, p_id uuid, p_as_of timestamptz default null,
                                         p_known_at timestamptz default null, p_limit integer default 100)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision,
               strength double precision, faded boolean, observations integer, first_observed_at timestamptz,
               last_observed_at timestamptz, restored_at timestamptz, fades_at timestamptz, valid_from timestamptz,
               valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz, metadata jsonb, aspect text, spells jsonb,
               evidence jsonb)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_known_at timestamptz := coalesce(p_known_at, 'infinity');
begin
    perform loci_internal.check_page(p_limit);
    if not isfinite(p_as_of) or not isfinite(p_known_at) then
        raise invalid_parameter_value
            using message = format('%s must be a finite time', case when isfinite(p_as_of) is not false
                                   then 'known_at' else 'as_of' end),
            column = case when isfinite(p_as_of) is not false then 'known_at' else 'as_of' end;
    end if;
    return query
    select r.*, loci_internal.edge_spells_known(p_namespace, p_id, v_known_at),
           (select coalesce(jsonb_agg(to_jsonb(v) - 'nth' order by v.nth desc), '[]')
            from (select e.id, e.nth, e.observed_at, e.valid_from, e.valid_to, e.confidence,
                         e.fresh and e.nth > 1 and e.reinforcement <> 'corrected' as restored, e.session_id,
                         e.memory_id, e.recorded_at, e.reinforcement = 'corrected' as corrects
                  from loci_internal.edge_evidence(v_ns, p_id, 'infinity', v_known_at) e
                  order by e.nth desc limit p_limit) v)
    from loci_data.edges x
    cross join lateral loci_internal.edge_rows(v_ns, array[x.id], coalesce(p_as_of, clock_timestamp()), v_known_at) r
    where x.namespace_id = v_ns and x.id = p_id and x.recorded_at <= v_known_at
      and (exists (select from loci_internal.edge_evidence(v_ns, p_id, 'infinity', v_known_at) e
                   where e.reinforcement <> 'corrected') or not exists (
           select from loci_data.edge_observations o where o.namespace_id = v_ns and o.edge_id = p_id));
    if not found then
        raise no_data_found using message = format('edge %s does not exist', p_id), column = 'id';
    end if;
end $$;
comment on function loci.get_edge(text, uuid, timestamptz, timestamptz, integer) is
    'An edge at two moments, with its spells and its evidence. Errors: 42501, P0002, 22023.';

-- The spells of an edge as JSON, in order of valid time, then of when they were believed: [{valid_from, valid_to,
-- recorded_at, superseded_at}], known at a moment.
create or replace function loci_internal.edge_spells_known(p_namespace text, p_id uuid, p_known_at timestamptz)
returns jsonb
language sql stable set search_path = ''
as $$
    select coalesce(jsonb_agg(jsonb_build_object(
               'valid_from', s.valid_from, 'valid_to', s.valid_to, 'recorded_at', s.recorded_at,
               'superseded_at', case when s.superseded_at <= p_known_at then s.superseded_at end)
               order by s.valid_from, s.recorded_at, s.valid_to), '[]')
    from loci.edge_spells s
    where s.namespace = p_namespace and s.edge_id = p_id and s.recorded_at <= p_known_at
$$;
comment on function loci_internal.edge_spells_known(text, uuid, timestamptz) is
    'Spells of an edge known at a moment, as JSON.';
