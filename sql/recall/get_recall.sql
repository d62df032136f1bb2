-- One logged recall with the memories in its answer, in order: arms, ranks, scores, whether the session was shown each,
-- and what was said of it. Two primary key ranges. Security definer: past the policies; checks the caller itself.
-- Errors: 42501, P0002.
create or replace function loci.get_recall(p_namespace text, p_id uuid)
returns table (id uuid, at timestamptz, agent_id uuid, session_id text, query text, arms text[], fusion text,
               k integer, filters jsonb,
               as_of timestamptz, known_at timestamptz, skipped jsonb, results integer, took_ms double precision,
               memories jsonb)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select r.id, r.at, r.agent_id, r.session_id, r.query, r.arms, r.fusion, r.k, r.filters, r.as_of, r.known_at,
           r.skipped, r.results, r.took_ms,
           (select coalesce(jsonb_agg(to_jsonb(l) - '{namespace_id,recall_id}'::text[] order by l.rank), '[]')
            from loci_internal.recalled_memories(v_namespace_id, r.id, r.session_id, r.at) l)
    from loci_data.recalls r where r.namespace_id = v_namespace_id and r.id = p_id;
    if not found then
        raise no_data_found using message = format('recall %s does not exist', p_id), column = 'id';
    end if;
end $$;
comment on function loci.get_recall(text, uuid) is
    'A logged recall with the memories in its answer. Errors: 42501, P0002.';

-- The memories in the answer of a logged recall, and what became of each: was its session shown it then or later
-- (injected_at), how often has the session found it by its words since it was shown (hits), and what was said of it.
-- Inlines into get_recall. A range of recall_results and one probe of injections each.
create or replace function loci_internal.recalled_memories(p_namespace_id integer, p_recall_id uuid, p_session_id text,
                                                           p_at timestamptz)
returns table (rank integer, memory_id uuid, score double precision, arms jsonb, injected_at timestamptz, hits integer,
               last_hit_at timestamptz,
               useful boolean, note text, rated_at timestamptz, rated_by uuid)
language sql stable
as $$
    select x.rank, x.memory_id, x.score, x.arms, case when i.injected_at >= p_at then i.injected_at end, i.hits,
           i.last_hit_at,
           x.useful, x.note, x.rated_at, x.rated_by
    from loci_data.recall_results x
    left join loci_data.injections i on i.namespace_id = x.namespace_id and i.session_id = p_session_id
         and i.memory_id = x.memory_id
    where x.namespace_id = p_namespace_id and x.recall_id = p_recall_id
$$;
comment on function loci_internal.recalled_memories(integer, uuid, text, timestamptz) is
    'Memories of a logged recall, with injection, hits and rating.';
