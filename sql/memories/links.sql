-- Links between memories.

-- Link two memories, or change the strength of a link: what it was stays as a row that ends where the new one begins,
-- so that as_of and known_at tell of it (link_at). A link that was taken back begins anew, after a break. Ends are
-- lineages, whatever version was named. The row of the present link is the lock between two writers.
create or replace function loci_api.link_memories(
    p_namespace text, p_source uuid, p_target uuid, p_type text, p_strength double precision default 0.5)
returns table (source_id uuid, target_id uuid, type text, strength double precision, recorded_at timestamptz,
               superseded_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'writer');
    v_source uuid;
    v_target uuid;
    v_last   loci_data.memory_links;
    v_at     timestamptz;
begin
    perform from loci_data.memories m where m.namespace_id = v_ns and m.id in (p_source, p_target) order by m.id
        for key share;
    -- only now: what was being erased is gone, what is there stays
    v_source := loci_internal.lineage_id_of(v_ns, p_source);
    v_target := loci_internal.lineage_id_of(v_ns, p_target, 'target_id');
    loop
        select l.* into v_last from loci_data.memory_links l
        where l.namespace_id = v_ns and l.source_id = v_source and l.target_id = v_target and l.type = p_type
          and l.superseded_at is null
        for update;
        v_at := greatest(clock_timestamp(), v_last.recorded_at + interval '1 microsecond');
        if found and v_last.strength = p_strength then
            return query select v_source, v_target, p_type, p_strength, v_last.recorded_at, v_last.superseded_at;
            exit;
        elsif found then
            update loci_data.memory_links l set superseded_at = v_at
            where l.namespace_id = v_ns and l.source_id = v_source and l.target_id = v_target and l.type = p_type
              and l.superseded_at is null;
        else
            v_at := greatest(v_at, (
                select max(o.superseded_at) + interval '1 microsecond' from loci_data.memory_links o
                where o.namespace_id = v_ns and o.source_id = v_source and o.target_id = v_target
                  and o.type = p_type));
        end if;
        return query
        insert into loci_data.memory_links as l (namespace_id, source_id, target_id, type, strength, recorded_at)
        values (v_ns, v_source, v_target, p_type, p_strength, v_at)
        on conflict do nothing
        returning l.source_id, l.target_id, l.type, l.strength, l.recorded_at, l.superseded_at;
        exit when found;
    end loop;
end $$;
comment on function loci_api.link_memories(text, uuid, uuid, text, double precision) is
    'Upsert a typed, weighted link between two memories. Errors: 42501, P0002, 23514.';

-- Take a link back: it is believed no longer, and stays askable with known_at. True if there was one. Where another
-- changes its strength at this moment, the row that this waited for has ended and another is the link: it looks again.
create or replace function loci_api.unlink_memories(p_namespace text, p_source uuid, p_target uuid, p_type text)
returns boolean
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'writer');
    v_source uuid := loci_internal.lineage_id_of(v_ns, p_source);
    v_target uuid := loci_internal.lineage_id_of(v_ns, p_target, 'target_id');
begin
    loop
        update loci_data.memory_links l
        set superseded_at = greatest(clock_timestamp(), l.recorded_at + interval '1 microsecond')
        where l.namespace_id = v_ns and l.source_id = v_source and l.target_id = v_target and l.type = p_type
          and l.superseded_at is null;
        if found then
            return true;
        end if;
        perform from loci_data.memory_links l
        where l.namespace_id = v_ns and l.source_id = v_source and l.target_id = v_target and l.type = p_type
          and l.superseded_at is null;
        if not found then
            return false;
        end if;
    end loop;
end $$;
comment on function loci_api.unlink_memories(text, uuid, uuid, text) is
    'End a link between two memories; whether there was one. Errors: 42501, P0002.';

-- Links from and to a memory, strongest first, as believed at known_at. as_of: those whose ends were both valid then,
-- with the strength of then (link_at). p_all_versions: past strengths and links that were taken back, too, recorded by
-- both times. An end is shown by the id of its lineage's first version that is left. cursor, on every row, is what to
-- send for the page that starts after it. Cost: two index ranges, all links of the memory once a page. Security
-- definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit, cursor, time).
create or replace function loci.list_links(
    p_namespace text, p_id uuid, p_limit integer default 100, p_cursor text default null,
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_all_versions boolean default false)
returns table (source_id uuid, target_id uuid, type text, strength double precision, recorded_at timestamptz,
               superseded_at timestamptz, cursor text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_node   uuid := loci_internal.lineage_id_of(v_ns, p_id);
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, '{}', p_as_of, p_known_at);
    v_key    text[];
begin
    perform loci_internal.check_page(p_limit);
    v_key := loci_internal.read_cursor(p_cursor, 'double precision', 'uuid', 'uuid', 'timestamptz', 'text');
    return query
    with touching as (
        select l as link from loci_data.memory_links l where l.namespace_id = v_ns and l.source_id = v_node
        union all
        select l from loci_data.memory_links l where l.namespace_id = v_ns and l.target_id = v_node
    ), known as (
        select t.link from touching t
        where case when p_all_versions then p_known_at is null or (t.link).recorded_at <= p_known_at
                   else loci.holds_at(t.link, p_as_of, p_known_at) end
    ), shown as (
        select s.* from known k
        cross join lateral loci_internal.link_at(k.link, case when not p_all_versions then p_as_of end) s
        where p_as_of is null or not p_all_versions
           or s.recorded_at <= p_as_of and loci_internal.lineage_is_visible(v_ns, s.source_id, v_filter)
              and loci_internal.lineage_is_visible(v_ns, s.target_id, v_filter)
    )
    select s.id, t.id, h.type, h.strength, h.recorded_at,
           case when p_known_at is null or h.superseded_at <= p_known_at then h.superseded_at end,
           loci_internal.make_cursor(jsonb_build_array(h.strength, h.source_id, h.target_id, h.recorded_at, h.type))
    from shown h
    cross join lateral (select loci_internal.first_version(v_ns, h.source_id) as id offset 0) s
    cross join lateral (select loci_internal.first_version(v_ns, h.target_id) as id offset 0) t
    where v_key is null
       or (-h.strength, h.source_id, h.target_id, h.recorded_at, h.type)
          > (-v_key[1]::double precision, v_key[2]::uuid, v_key[3]::uuid, v_key[4]::timestamptz, v_key[5])
    order by h.strength desc, h.source_id, h.target_id, h.recorded_at, h.type limit p_limit;
end $$;
comment on function loci.list_links(text, uuid, integer, text, timestamptz, timestamptz, boolean) is
    'Links of a memory in both directions, strongest first, at two times; with past strengths, where asked for; '
    'cursor pages. Errors: 42501, P0002, 22023.';

-- A link as it stood at a moment: of the strengths that it had without a break, the one that had been stated last by
-- then; before the first, that. A break (it was taken back, and made anew) makes another link. Null: as it is. A
-- look-up in the primary key for each step back.
create or replace function loci_internal.link_at(p_link loci_data.memory_links, p_as_of timestamptz)
returns loci_data.memory_links
language plpgsql stable parallel safe
as $$
declare
    v_link loci_data.memory_links := p_link;
    v_last loci_data.memory_links;
begin
    while v_link.recorded_at > p_as_of loop
        select l.* into v_last from loci_data.memory_links l
        where l.namespace_id = v_link.namespace_id and l.source_id = v_link.source_id
          and l.target_id = v_link.target_id and l.type = v_link.type and l.superseded_at = v_link.recorded_at;
        exit when not found;
        v_link.strength := v_last.strength;
        v_link.recorded_at := v_last.recorded_at;
        v_link.superseded_at := v_last.superseded_at;
    end loop;
    return v_link;
end $$;
comment on function loci_internal.link_at(loci_data.memory_links, timestamptz) is
    'A link with the strength that it had at a moment.';

-- Is there a version of a lineage that is visible at the filter's two times? A range of memories_chain.
create or replace function loci_internal.lineage_is_visible(p_namespace_id integer, p_node uuid,
                                                            p_filter loci_internal.memory_filter) returns boolean
language sql stable parallel safe
as $$
    select exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.lineage_id = p_node
                   and loci_internal.memory_is_visible(m, p_filter))
$$;
comment on function loci_internal.lineage_is_visible(integer, uuid, loci_internal.memory_filter) is
    'Whether a version of a lineage is active and valid at as_of, as believed at known_at.';

-- The id by which a node of the hierarchy is shown: that of its earliest version that is left. It is the node's own,
-- unless that version was erased. One or two index look-ups.
create or replace function loci_internal.first_version(p_namespace_id integer, p_node uuid) returns uuid
language sql stable parallel safe
as $$
    select m.id from loci_data.memories m
    where m.namespace_id = p_namespace_id and m.lineage_id = p_node
    order by m.id <> p_node, m.version limit 1
$$;
comment on function loci_internal.first_version(integer, uuid) is
    'Id of the earliest version of a lineage that was not erased.';

-- Links between memories that are believed now, with what both ends say. Links tie lineages: each end is shown as it is
-- valid now, or was last. By source_id the primary key, by target_id memory_links_target. Under the policies: rows of
-- granted namespaces only.
create or replace view loci.links with (security_invoker = true) as
select n.name as namespace,
       (select m.lineage from loci_data.memories m
        where m.namespace_id = l.namespace_id and m.lineage_id = l.source_id limit 1) as source_lineage,
       (select m.content from loci_data.memories m
        where m.namespace_id = l.namespace_id and m.lineage_id = l.source_id
        order by m.status = 'active' and m.valid_from <= statement_timestamp() desc, m.valid_from desc, m.version desc
        limit 1) as source,
       l.type,
       (select m.lineage from loci_data.memories m
        where m.namespace_id = l.namespace_id and m.lineage_id = l.target_id limit 1) as target_lineage,
       (select m.content from loci_data.memories m
        where m.namespace_id = l.namespace_id and m.lineage_id = l.target_id
        order by m.status = 'active' and m.valid_from <= statement_timestamp() desc, m.valid_from desc, m.version desc
        limit 1) as target,
       l.strength, l.recorded_at, l.source_id, l.target_id
from loci_data.memory_links l
join loci_data.namespaces n on n.id = l.namespace_id
where l.superseded_at is null;
comment on view loci.links is
    'Links between memories that are believed now; past strengths and links that were taken back: list_links.';
comment on column loci.links.namespace is 'Name of the namespace.';
comment on column loci.links.source_lineage is
    'Lineage that the link starts from; what it says now: Joins current_memories.lineage.';
comment on column loci.links.source is 'Present content of that memory, else its last.';
comment on column loci.links.type is 'Free text: related_to, part_of, contradicts, supports, ….';
comment on column loci.links.target_lineage is
    'Lineage that it points to; what it says now: Joins current_memories.lineage.';
comment on column loci.links.target is 'Present content of that memory, else its last.';
comment on column loci.links.strength is '0 to 1.';
comment on column loci.links.recorded_at is 'Recorded time: since when this is believed.';
comment on column loci.links.source_id is
    'Identifier of the source: of the first version of its lineage, whichever is current. Joins memory_versions.id.';
comment on column loci.links.target_id is
    'Identifier of the target: of the first version of its lineage, whichever is current. Joins memory_versions.id.';
