-- How fast do edges of this type fade here, per day? The type's own rate, else the namespace's. Two primary keys.
create or replace function loci_internal.decay_rate(p_namespace_id integer, p_type text) returns double precision
language sql stable parallel safe
as $$
    select coalesce(
        (select t.decay_rate from loci_data.edge_types t where t.namespace_id = p_namespace_id and t.type = p_type),
        (loci_internal.settings(p_namespace_id) ->> 'decay_rate')::double precision)
$$;
comment on function loci_internal.decay_rate(integer, text) is
    'Decay rate per day of an edge type in a namespace.';

-- The rates and settings that a writer of edges goes by, held: a change of them that commits from now on waits for this
-- transaction before it moves edges.fades_at (recalculate_decay_batch), so that no moment reckoned from old rates is
-- left behind.
-- Nobody waits here for more than the instant in which a change begins. The lock is on the version: writers after a
-- change lock the next one, and do not queue behind those who wait for the old. Called before anything that reckons
-- fades_at to store it;
create or replace function loci_internal.lock_decay_rates(p_namespace_id integer, out rate double precision,
                                                          out rates jsonb, out threshold double precision,
                                           out reinforcement text)
language plpgsql volatile set search_path = ''
as $$
declare
    v_held     integer;
    v_version  integer;
    v_settings jsonb;
begin
    loop
        v_version := (select n.rates_version from loci_data.namespaces n where n.id = p_namespace_id);
        exit when v_version is null or v_version = v_held;
        perform loci_internal.lock_shared(p_namespace_id, format('rates %s', v_version));
        v_held := v_version;
    end loop;
    v_settings := loci_internal.settings(p_namespace_id);
    rate := v_settings ->> 'decay_rate';
    threshold := v_settings ->> 'edge_threshold';
    reinforcement := v_settings ->> 'reinforcement';
    rates := (select jsonb_object_agg(t.type, t.decay_rate) from loci_data.edge_types t
              where t.namespace_id = p_namespace_id and t.decay_rate is not null);
end $$;
comment on function loci_internal.lock_decay_rates(integer) is
    'Decay rate, rates by type, threshold and reinforcement of a namespace, held against changes for this transaction.';
