-- Delete a conversation, its part of the log included; how many turns. Waits for a write under way in the session, so
-- that nothing of it comes after. Words about it in reports of passes go, too. Security definer: writes past
-- the policies; checks the caller itself. Errors: 42501, P0002 (namespace).
create or replace function loci_api.delete_turns(p_namespace text, p_session_id text) returns table (deleted bigint)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'writer');
    v_ids bigint[];
begin
    perform loci_internal.lock_session(v_ns, p_session_id);
    v_ids := array(select t.id from loci_data.conversation_turns t
                   where t.namespace_id = v_ns and t.session_id = p_session_id order by t.id for update);
    perform loci_internal.erase_turns(v_ns, v_ids);
    return query select cardinality(v_ids)::bigint;
end $$;
comment on function loci_api.delete_turns(text, text) is
    'Delete the turns of a session; how many. Errors: 42501, P0002.';

-- Delete turns for good, with what else says them: reports of passes that read them, and kept replies that quote them,
-- which say so from now on (a short turn, only where it is a whole content). The caller has locked them. Reads the
-- replies that are kept.
create or replace function loci_internal.erase_turns(p_namespace_id integer, p_ids bigint[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_quotes text[];
begin
    with gone as (
        delete from loci_data.conversation_turns t where t.namespace_id = p_namespace_id and t.id = any (p_ids)
        returning to_jsonb(t.content)::text as said
    )
    select array_agg(case when length(g.said) > 20 then btrim(g.said, '"') else '"content": ' || g.said end)
    into v_quotes from gone g;
    perform loci_internal.erase_idempotent_replies(p_namespace_id, '{}', v_quotes);
    perform loci_internal.erase_pass_plans(p_namespace_id, p_ids);
end $$;
comment on function loci_internal.erase_turns(integer, bigint[]) is
    'Delete turns, and what reports and kept replies say of them.';

-- Which turns hold all the words of one of these memories, of any version of them? Their words in the language of the
-- namespace (session_words), little ones left out, so the order and form of words do not matter. Each of many
-- memories is looked for where its rarest word is. Reads the words of the turns of the namespace.
create or replace function loci_internal.turns_with_words(p_namespace_id integer, p_memories uuid[])
returns table (session_id text, id bigint)
language plpgsql stable set search_path = '' set enable_seqscan = off
as $$
declare
    v_texts tsvector[] := array(
        select distinct w.document from loci_data.memories m
        cross join lateral loci_internal.session_words(p_namespace_id, m.content) w(document)
        where m.namespace_id = p_namespace_id and m.id = any (p_memories) and w.document <> '');
    v_any   tsquery;
begin
    if cardinality(v_texts) <= 20 then
        select string_agg('(' || loci_internal.and_tsquery(d)::text || ')', ' | ')::tsquery into v_any
        from unnest(v_texts) d;
        return query
        select t.session_id, t.id from loci_data.conversation_turns t
        where t.namespace_id = p_namespace_id and t.document @@ v_any;
        return;
    end if;
    return query
    with wanted as materialized (
        select d.nth, loci_internal.and_tsquery(d.document) as words, u.lexeme
        from unnest(v_texts) with ordinality d(document, nth) cross join lateral unnest(d.document) u
    ), held as materialized (
        select u.lexeme, array_agg(t.id) as ids from loci_data.conversation_turns t
        cross join lateral unnest(t.document) u
        where t.namespace_id = p_namespace_id and u.lexeme in (select w.lexeme from wanted w) group by u.lexeme
    ), rarest as (
        select distinct on (w.nth) w.nth, w.words, h.ids from wanted w left join held h on h.lexeme = w.lexeme
        order by w.nth, coalesce(cardinality(h.ids), 0), w.lexeme
    )
    select distinct t.session_id, t.id
    from rarest r cross join lateral unnest(r.ids) i(id)
    cross join lateral (select o.session_id, o.id, o.document from loci_data.conversation_turns o
                        where o.namespace_id = p_namespace_id and o.id = i.id limit 1) t
    where t.document @@ r.words;
end $$;
comment on function loci_internal.turns_with_words(integer, uuid[]) is
    'Turns that hold all the words of one of these memories.';

-- The words of a document as a query that all of them answer. Pure.
create or replace function loci_internal.and_tsquery(p_document tsvector) returns tsquery
language sql immutable parallel safe
as $$
    select replace(loci_internal.or_tsquery(tsvector_to_array(p_document))::text, ' | ', ' & ')::tsquery
$$;
comment on function loci_internal.and_tsquery(tsvector) is
    'Words as an AND query; null for none.';
