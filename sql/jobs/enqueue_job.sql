-- Ask for work that is done later, in the caller's transaction. Security definer: writes past the policies; checks the
-- caller itself. Errors: 42501, P0002, 22023 (kind).
create or replace function loci_api.enqueue_job(
    p_namespace text, p_kind text, p_arguments jsonb default '{}', p_key text default null, p_turn text default null,
    p_due_at timestamptz default null)
returns table (id uuid, created boolean)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'writer');
begin
    if p_kind is null or p_kind not in ('dream', 'enrich', 'contradictions', 'settle', 'tune', 'project') then
        raise invalid_parameter_value using column = 'kind',
            message = format('kind must be dream, enrich, contradictions, settle, tune or project, not %L', p_kind);
    end if;
    return query select a.id, a.created
        from loci_internal.insert_job(v_ns, p_kind, p_arguments, p_key, p_turn, p_due_at) a;
end $$;
comment on function loci_api.enqueue_job(text, text, jsonb, text, text, timestamptz) is
    'Ask for a job; created is false where one with the same key waits already. Errors: 42501, P0002, 22023.';
