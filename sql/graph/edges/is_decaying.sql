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
