-- Put facts and episodes that stand nowhere in their place (row L3), a page of p_limit of them, oldest first, and link what is related. Plan, then
-- apply: a dry run is the plan. Nothing moves that has, or had, a place, so a second run changes nothing. Reflects of a namespace take turns. What
-- finds no place is counted (left) and passed: the next page begins after next_cursor. Links need vectors: what is placed before it has one gets none. Cost: a search by meaning for each orphan.
-- p_plan: what a model proposes for the page, checked by the service: concepts [{key, title, layer, parent_id, parent_key, summary}], places
-- [{memory_id, parent_id or key}], links [{source_id, target_id, type, strength}], summaries [{memory_id, summary}]. What of it fits what is there
-- takes the place of what the rules say where these only guess (see given_places); a summary becomes a version of a concept that reflect made.
-- Called by REST and the command line. Errors: 42501, P0002.
create or replace function loci.reflect(
    p_namespace text, p_limit integer default 200, p_category text default null, p_cursor bigint default null, p_dry_run boolean default false,
    p_plan jsonb default null)
returns table (placed jsonb, linked jsonb, created jsonb, summarised jsonb, visited integer, orphans_left integer, next_cursor bigint)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_ns       integer := loci.authorize(p_namespace, 'writer');
    v_settings jsonb := loci.settings(v_ns);
    v_orphans  loci.orphan[];
    v_places   loci.planned_place[];
    v_done     jsonb := '{}'; -- memory: its parent
    v_link     record;
begin
    if not p_dry_run then
        perform pg_advisory_xact_lock(hashtextextended('loci.reflect', v_ns));
    end if;
    v_orphans := loci.find_orphans(v_ns, p_limit, rtrim(p_category, '/'), p_cursor);
    v_places := array(select p from loci.plan_places(v_ns, v_orphans, v_settings) p);
    v_places := array(select p from loci.given_places(v_ns, v_orphans, v_places, p_plan) p);
    select coalesce(jsonb_agg(to_jsonb(l)), '[]') into linked from loci.given_links(v_ns, p_namespace, v_orphans, v_places, v_settings, p_plan) l;
    select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(n) || jsonb_build_object('id', loci.uuid7()))), '[]') into created
    from (select * from loci.plan_nodes(v_ns, v_places, v_settings) union all select * from loci.given_concepts(v_ns, v_places, p_plan)) n;

    if not p_dry_run then
        select coalesce(jsonb_object_agg(a.memory_id, a.parent_id), '{}') into v_done from loci.apply_places(v_ns, p_namespace, v_places, created) a;
        for v_link in select * from jsonb_to_recordset(linked) l(source_id uuid, target_id uuid, type text, strength double precision) loop
            perform loci.link_memories(p_namespace, v_link.source_id, v_link.target_id, v_link.type, v_link.strength);
        end loop;
    end if;
    select coalesce(jsonb_agg(jsonb_build_object('memory_id', p.memory_id, 'parent_id', coalesce(v_done -> p.memory_id::text, to_jsonb(p.parent_id)),
                                                 'parent', p.parent, 'similarity', p.similarity, 'reason', p.reason) order by p.nth), '[]') into placed
    from unnest(v_places) with ordinality p(memory_id, node_id, parent_id, parent, path, similarity, reason, nth)
    where p_dry_run or v_done ? p.memory_id::text;
    if p_dry_run then
        select coalesce(jsonb_agg(n.value || '{"id": null}' order by n.nth), '[]') into created from jsonb_array_elements(created) with ordinality n(value, nth);
    end if;
    summarised := loci.summarise_concepts(v_ns, p_namespace, p_plan, p_dry_run);
    visited := cardinality(v_orphans);
    orphans_left := visited - jsonb_array_length(placed);
    next_cursor := case when visited = p_limit then v_orphans[visited].doc_id end;
    return next;
end $$;
comment on function loci.reflect(text, integer, text, bigint, boolean, jsonb) is 'Place a page of facts and episodes that stand nowhere under concepts, which are made from categories where needed, and link what is related; by rules, and as given. Errors: 42501, P0002.';
