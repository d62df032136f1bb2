-- Decay: confidence over time, rates by type, and changes of rates.

-- Start to bring edges.fades_at in step with the rates of decay and the threshold in force, for one type or for all; a
-- type need not be used yet, as in set_edge_type.
-- From the commit on, readers of the namespace reckon for themselves until the last batch (recalculate_decay_batch) is
-- done: they
-- are right at any moment, and nothing has to be finished for that. Begun again before it ended, it starts anew.
-- Reading never needs this for time alone: decay is a function of time. See enqueue_decay_change. Security definer:
-- writes past
-- the policies; checks the caller itself. Errors: 42501, P0002, 22023.
create or replace function loci_api.begin_decay_change(p_namespace text, p_type text default null) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
begin
    if length(loci.canonical_type(p_type)) not between 1 and 128 then
        raise invalid_parameter_value using message = format('type must have 1 to 128 characters, not %L', p_type),
            column = 'type';
    end if;
    perform loci_internal.enqueue_decay_change(v_namespace_id, loci.canonical_type(p_type), true);
end $$;
comment on function loci_api.begin_decay_change(text, text) is
    'Start to recalculate when edges of a type (null: of all) fade; call recalculate_decay_batch until it says done. '
    'Errors: 42501, P0002, 22023.';

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

-- The rates and settings that a writer of edges uses, under a shared lock: a change of them that commits from now on
-- waits for this transaction before it moves edges.fades_at (recalculate_decay_batch), so that no moment reckoned from
-- old rates is left behind. Nobody waits here for more than the instant in which a change begins. The lock is on the
-- version: writers after a change lock the next one, and do not queue behind those who wait for the old. Called before
-- anything that reckons fades_at to store it;
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

-- What is an edge's confidence worth at a moment? confidence × e^(−rate × days since it was last observed). Before the
-- observation it is the confidence itself. Inlines. The exponent stops at −500, and what is next to nothing is nothing:
-- short of underflow, which would be an error.
create or replace function loci.effective_confidence(p_confidence double precision, p_rate double precision,
                                                     p_observed_at timestamptz, p_at timestamptz)
                                                         returns double precision
language sql immutable parallel safe
return case when p_confidence < 1e-80 then 0
    else p_confidence * exp(-least(p_rate * greatest(date_part('epoch', p_at - p_observed_at) / 86400, 0), 500)) end;
comment on function loci.effective_confidence(double precision, double precision, timestamptz, timestamptz) is
    'Confidence after decay: confidence, rate per day, when last observed, at which moment.';

-- A change of decay begins: note it where readers and the batches look. The version of the rates grows, so that who
-- writes from now on is told apart from those who read the rates before (lock_decay_rates). In the transaction of the
-- change
-- itself, of which nothing is seen before it commits. Two changes at once take turns at the row of the namespace.
-- p_type null: all types. p_recalculates: it was asked for on demand, and counts what faded since the last time.
create or replace function loci_internal.enqueue_decay_change(p_namespace_id integer, p_type text,
                                                              p_recalculates boolean default false) returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_at    timestamptz := clock_timestamp();
    v_since integer;
begin
    update loci_data.namespaces n set rates_version = n.rates_version + 1 where n.id = p_namespace_id
    returning n.rates_version - 1 into v_since;
    insert into loci_data.decay_changes as c (namespace_id, type, since_version, started_at, worked_at, counted_from,
                                              recalculated_at)
    values (p_namespace_id, coalesce(p_type, ''), v_since, v_at, v_at,
            case when p_recalculates then '-infinity' else v_at end, case when p_recalculates then v_at end)
    on conflict (namespace_id, type) do update
    set since_version = least(c.since_version, excluded.since_version),
        started_at = greatest(c.started_at, excluded.started_at), after_id = null,
        counted_from = case when p_recalculates then coalesce(c.recalculated_at, '-infinity') else
            greatest(c.started_at, excluded.started_at) end,
        recalculated_at = coalesce(excluded.recalculated_at, c.recalculated_at),
        edges = 0, faded = 0, revived = 0, faded_now = 0, worked_at = excluded.worked_at, finished_at = null;
end $$;
comment on function loci_internal.enqueue_decay_change(integer, text, boolean) is
    'Note that edges of a type (null: of all) must be brought in step with their decay.';

-- When does an edge fall below the threshold? observed + ln(confidence / threshold) / rate days (forward decay: Cormode
-- et al., ICDE 2009). Stored in edges.fades_at, it makes "alive at T" an indexed comparison, the same at any T.
-- infinity: never, or beyond the range of timestamptz.
create or replace function loci.fades_at(p_confidence double precision, p_rate double precision,
                                         p_observed_at timestamptz, p_threshold double precision) returns timestamptz
language sql immutable parallel safe
return case
    when p_threshold <= 0 then 'infinity'
    when p_confidence < p_threshold then p_observed_at
    when p_rate < 1e-100 then 'infinity'
    when ln(p_confidence / p_threshold) / p_rate * 86400
         + date_part('epoch', p_observed_at - timestamptz '1970-01-01 00:00:00+00') > 9.2e12 then 'infinity'
    else to_timestamp(ln(p_confidence / p_threshold) / p_rate * 86400
                      + date_part('epoch', p_observed_at - timestamptz '1970-01-01 00:00:00+00'))
end;
comment on function loci.fades_at(double precision, double precision, timestamptz, double precision) is
    'When confidence decays below a threshold: confidence, rate per day, when last observed, threshold.';

-- Is edges.fades_at being moved in this namespace, and not to be trusted? Then readers compute the effective confidence
-- themselves. A handful of rows.
create or replace function loci_internal.is_decaying(p_namespace_id integer) returns boolean
language sql stable parallel safe
as $$
    select exists (select from loci_data.decay_changes c where c.namespace_id = p_namespace_id
                   and c.finished_at is null)
$$;
comment on function loci_internal.is_decaying(integer) is
    'Whether a change of decay is not through with all edges of the namespace.';

-- Which change of decay does the worker finish next? The one that has been left longest: nobody has worked at it for
-- p_seconds, because who began it has died. Reads a handful of rows. Security definer: reads all namespaces. Errors:
-- 42501.
create or replace function loci_api.next_unfinished_decay(p_seconds double precision)
returns table (namespace text, type text)
language plpgsql stable security definer set search_path = ''
as $$
begin
    perform loci_internal.require_operator('ask what waits');
    return query
    select n.name, nullif(c.type, '') from loci_data.decay_changes c join loci_data.namespaces n
        on n.id = c.namespace_id
    where c.finished_at is null and c.worked_at < clock_timestamp() - p_seconds * interval '1 second'
    order by c.worked_at, c.namespace_id, c.type limit 1;
end $$;
comment on function loci_api.next_unfinished_decay(double precision) is
    'The change of decay that nobody has worked at for longest, and for p_seconds at least. Operator only.';

-- Changes of decay of a namespace that recalculate_decay_batch has still to finish: their edge types, null for all
-- types. Security
-- definer: reads past the policies; checks the caller itself. Called after undoing an operation. Errors: 42501, P0002.
create or replace function loci_api.unfinished_decay_changes(p_namespace text) returns table (type text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'writer');
begin
    return query select nullif(c.type, '') from loci_data.decay_changes c where c.namespace_id = v_ns
        and c.finished_at is null order by c.type;
end $$;
comment on function loci_api.unfinished_decay_changes(text) is
    'Edge types (null: all) whose edges recalculate_decay_batch has to bring in step with a change of decay. Errors: '
    '42501, P0002.';
