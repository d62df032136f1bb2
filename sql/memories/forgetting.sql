-- Forgetting: a memory ends, and the version before it may resume.

-- Forget memories, all that are there and not forgotten yet; how many. Those that others lock are waited for, in order
-- of their ids. A probe of the primary key a memory. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002 (namespace).
create or replace function loci_api.forget_memories(p_namespace text, p_ids uuid[]) returns bigint
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'writer');
    v_rows loci_data.memories[];
begin
    v_rows := array(select m from loci_data.memories m
                    where m.namespace_id = v_ns and m.id = any (p_ids) and m.status = 'active'
                    order by m.id for no key update);
    for v_place in 1 .. coalesce(cardinality(v_rows), 0) loop
        v_rows[v_place].status := 'forgotten';
        v_rows[v_place].updated_at := clock_timestamp();
    end loop;
    return (select count(*) from loci_internal.change_memories(v_ns, v_rows));
end $$;
comment on function loci_api.forget_memories(text, uuid[]) is
    'Forget memories that are not forgotten yet; how many. Errors: 42501, P0002.';

-- Forget a memory, or take that back: its status changes, nothing is deleted, and what was believed before stays
-- askable with known_at. A version that is restored after others were written holds until the next of them begins; that
-- fails where one holds when it begins, or where a memory that says the same has taken its place. A version that was
-- undone, and so was never true, has the end again that it had before.
create or replace function loci_api.forget_memory(p_namespace text, p_id uuid, p_forget boolean)
returns setof loci.memory_record
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'writer');
    v_old loci_data.memories;
    v_new loci_data.memories;
    v_end timestamptz;  -- where the next version begins
    v_at  timestamptz;  -- a volatile argument would keep memory_record from being inlined: a call a column
begin
    select * into v_old from loci_data.memories where namespace_id = v_ns and id = p_id for no key update;
    if not found then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'id';
    end if;
    v_new := v_old;
    v_new.status := case when p_forget then 'forgotten' else 'active' end;
    if v_new.status <> v_old.status then
        v_new.updated_at := clock_timestamp();
    end if;
    if not p_forget and v_old.status <> 'active' and v_old.valid_to = v_old.valid_from then
        v_new.valid_to := nullif(coalesce((select coalesce(b.valid_to, 'infinity') from loci_data.memory_beliefs b
                                           where b.namespace_id = v_ns and b.memory_id = p_id
                                             and b.believed_to = v_old.believed_at), v_old.valid_to), 'infinity');
    end if;
    if not p_forget and v_old.status <> 'active' then
        perform from loci_data.lineages l where l.namespace_id = v_ns and l.lineage = v_old.lineage for no key update;
        select min(m.valid_from) into v_end from loci_data.memories m
        where m.namespace_id = v_ns and m.lineage_id = v_old.lineage_id and m.status = 'active'
          and m.valid_from > v_new.valid_from and (m.valid_to is null or m.valid_to > m.valid_from);
        if v_end < coalesce(v_new.valid_to, 'infinity') then
            v_new.valid_to := v_end;
            v_new.superseded_at := case when v_end <= v_new.updated_at then coalesce(v_new.superseded_at,
                                                                                     v_new.updated_at) end;
        end if;
    end if;
    select * into v_new from loci_internal.change_memories(v_ns, array[v_new]);
    v_at := clock_timestamp();
    return query
    select (loci.memory_record(v_new, v_at, (
        select p.parent_id from loci_internal.parent_of(v_new, v_at, null) p))).*;
end $$;
comment on function loci_api.forget_memory(text, uuid, boolean) is
    'Forget (true) or restore (false) a memory, until the next version begins; returns it. Errors: 42501, P0002, 23P01 '
    'and 23505 (its place is taken).';

-- An interrupted statement goes on after the interlude: from where the new version ends until where the statement
-- would have ended, as one more version, with the entities that it mentions, the edges that it shows
-- (carry_observations) and the facts that rest on it (resume_facts).
create or replace function loci_internal.resume_interrupted_versions(p_namespace_id integer,
                                                                     p_plan loci_internal.memory_input[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_pairs jsonb;  -- id of the interrupted version: id of the one that goes on
    v_ids   uuid[];
    v_made  uuid[];
begin
    update loci_data.lineages l set versions = l.versions + 1
    from unnest(p_plan) i where i.resumes and not i.duplicate and l.namespace_id = p_namespace_id
        and l.lineage = i.lineage;

    select jsonb_object_agg(i.ends, loci_api.uuid7()) into v_pairs from unnest(p_plan) i where i.resumes
        and not i.duplicate;
    insert into loci_data.memories overriding user value  -- in the order of its columns
    select p_namespace_id, (v_pairs ->> m.id::text)::uuid, null, m.lineage, m.lineage_id, l.versions, m.content,
           m.content_hash, m.fold_scope,
           i.valid_to, b.valid_to, i.recorded_at, i.recorded_at, null, 'active', m.source, m.session_id,
           m.observations, m.last_observed_at,
           (select loci.current_agent()), i.recorded_at, (m.details).*
    from unnest(p_plan) i
    join loci_data.lineages l on l.namespace_id = p_namespace_id and l.lineage = i.lineage
    cross join lateral (select o.*, loci.memory_details(o) as details from loci_data.memories o
                        where o.namespace_id = p_namespace_id and o.id = i.ends limit 1) m
    cross join lateral (select o.valid_to from loci_data.memory_beliefs o
                        where o.namespace_id = p_namespace_id and o.memory_id = m.id
                        order by o.believed_at desc limit 1) b
    where i.resumes and not i.duplicate order by i.ordinal;
    perform loci_internal.insert_mentions(p_namespace_id, jsonb_agg(jsonb_build_object(
        'memory_id', v_pairs -> (n.memory_id::text), 'entity_id', n.entity_id, 'mention_text', n.mention_text)))
    from jsonb_object_keys(v_pairs) p(id)
    join loci_data.memory_mentions n on n.namespace_id = p_namespace_id and n.memory_id = p.id::uuid
    join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = n.entity_id and e.merged_into is null
    having count(*) > 0;
    v_made := array(select v.value::uuid from jsonb_each_text(v_pairs) v order by v.key);
    v_ids := array(select v.key::uuid from jsonb_each_text(v_pairs) v order by v.key);
    perform loci_internal.carry_observations(p_namespace_id, v_ids, v_made);
    perform loci_internal.settle_observations(p_namespace_id, array(
        select o.id from loci_data.edge_observations o where o.namespace_id = p_namespace_id
            and o.carried_by && v_made));
    perform loci_internal.resume_facts(p_namespace_id, v_ids, v_made);
end $$;
comment on function loci_internal.resume_interrupted_versions(integer, loci_internal.memory_input[]) is
    'Let interrupted statements go on after the versions that interrupted them.';

-- Facts that held until their memory was interrupted hold again from where it goes on, as facts of their own: until
-- when was stated of the first, unless siblings are in the way. p_ids and p_made are pairs. Index attributes_memory.
create or replace function loci_internal.resume_facts(p_namespace_id integer, p_ids uuid[], p_made uuid[])
returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_id uuid;
    v_at timestamptz := clock_timestamp();
begin
    for v_id in
        insert into loci_data.attributes (namespace_id, id, aspect_id, kind, content, memory_id, confidence, importance,
                                          valid_from, valid_to, stated_to, own_to, recorded_at, updated_at)
        select p_namespace_id, loci_api.uuid7(), a.aspect_id, a.kind, a.content, n.id, a.confidence, a.importance,
               n.valid_from, least(a.stated_to, n.valid_to), a.stated_to, least(a.stated_to, n.valid_to), v_at, v_at
        from unnest(p_ids, p_made) u(id, made)
        join loci_data.memories m on m.namespace_id = p_namespace_id and m.id = u.id
        join loci_data.memories n on n.namespace_id = p_namespace_id and n.id = u.made
        join loci_data.attributes a on a.namespace_id = p_namespace_id and a.memory_id = m.id
        where a.taken_back_at is null and a.superseded_by is null and a.ended_at is null and a.valid_to = m.valid_to
          and a.valid_from < n.valid_from and (a.stated_to is null or a.stated_to > n.valid_from)
        order by a.id
        returning id
    loop
        perform loci_internal.supersede_siblings(p_namespace_id, v_id, 'inline', null, null, v_at);
    end loop;
end $$;
comment on function loci_internal.resume_facts(integer, uuid[], uuid[]) is
    'Let facts of interrupted memories hold again where these go on.';
