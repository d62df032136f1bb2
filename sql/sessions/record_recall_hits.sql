-- A recall of this session found these documents by their words: record_hits for a search that must not fail or wait
-- for it. A caller who may only read notes nothing. A row that another holds is left out: that is a hit as well, or the
-- session's end (record_injections holds none that counts). Returns how many counted. Cost: one look-up where nothing
-- was shown to the session. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.record_recall_hits(p_namespace text, p_session_id text, p_documents bigint[])
returns integer
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_at           timestamptz := clock_timestamp();
    v_noted        integer;
begin
    begin
        perform loci_internal.authorize(p_namespace, 'writer');
    exception when insufficient_privilege then
        return 0;
    end;
    if not exists (select from loci_data.injections i
                   where i.namespace_id = v_namespace_id and i.session_id = p_session_id) then
        return 0;
    end if;
    with shown as (
        select i.memory_id from loci_data.injections i
        where i.namespace_id = v_namespace_id and i.session_id = p_session_id and i.ended_at is null
          and i.injected_at < v_at
          and i.memory_id = any (array(select m.id from loci_data.memories m
                                       where m.namespace_id = v_namespace_id and m.doc_id = any (p_documents)))
        order by i.memory_id for no key update skip locked
    )
    update loci_data.injections i set hits = i.hits + 1, last_hit_at = greatest(i.last_hit_at, v_at) from shown s
    where i.namespace_id = v_namespace_id and i.session_id = p_session_id and i.memory_id = s.memory_id;
    get diagnostics v_noted = row_count;
    return v_noted;
end $$;
comment on function loci_api.record_recall_hits(text, text, bigint[]) is
    'Note what a recall of a session found by words, if the caller may write; how many of it had been shown to the '
    'session. Errors: 42501, P0002.';
