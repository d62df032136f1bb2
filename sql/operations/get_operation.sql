-- One operation: its agent, its way in, its time, and the number of its changes. Security definer: agents and the
-- outbox are read past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci.get_operation(p_namespace text, p_id uuid)
returns table (id uuid, action text, via text, agent_id uuid, agent text, key_id uuid, request_id text,
               started_at timestamptz,
               undoes uuid, undone_by uuid, changes jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query select r.* from loci_internal.operation_rows(v_ns, array[p_id]) r;
    if not found then
        raise no_data_found using message = format('operation %s does not exist', p_id), column = 'id',
            hint = 'A call that changed nothing leaves none, and they are kept for the setting operation_days.';
    end if;
end $$;
comment on function loci.get_operation(text, uuid) is
    'An operation with counts of its changes. Errors: 42501, P0002.';
