-- Take an edge back: it is no longer believed from now on, but stays for the record. Observing it again makes a new
-- one. Edges that had made way for it, of a type with one target at a time, go on. Security definer: writes past the
-- policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.delete_edge(p_namespace text, p_id uuid)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision,
               strength double precision, faded boolean, observations integer, first_observed_at timestamptz,
               last_observed_at timestamptz, restored_at timestamptz, fades_at timestamptz, valid_from timestamptz,
               valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz, metadata jsonb, aspect text)
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
