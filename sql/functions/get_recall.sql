-- One logged recall with the memories in its answer, in order: arms, ranks, scores, whether the session was shown each, and what was said of it.
-- Two primary key ranges. Called by REST. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci.get_recall(p_namespace text, p_id uuid)
returns table (id uuid, at timestamptz, agent_id uuid, session_id text, query text, arms text[], fusion text, k integer, filters jsonb,
               as_of timestamptz, known_at timestamptz, skipped jsonb, results integer, took_ms double precision, memories jsonb)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci.authorize(p_namespace, 'reader');
begin
    return query
    select r.id, r.at, r.agent_id, r.session_id, r.query, r.arms, r.fusion, r.k, r.filters, r.as_of, r.known_at, r.skipped, r.results, r.took_ms,
           (select coalesce(jsonb_agg(to_jsonb(l) - '{namespace_id,recall_id}'::text[] order by l.rank), '[]')
            from loci.recalled_memories(v_namespace_id, r.id, r.session_id, r.at) l)
    from loci_data.recalls r where r.namespace_id = v_namespace_id and r.id = p_id;
    if not found then
        raise no_data_found using message = format('recall %s does not exist', p_id), column = 'id';
    end if;
end $$;
comment on function loci.get_recall(text, uuid) is 'A logged recall with the memories in its answer. Errors: 42501, P0002.';
