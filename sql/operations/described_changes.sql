-- Changes, [{kind, subject_id, …}], each with `content`: what the thing is in words, as it is now; null for kinds that
-- have none. A few look-ups in primary keys each.
create or replace function loci_internal.described_changes(p_namespace_id integer, p_changes jsonb) returns jsonb
language sql stable
as $$
    select coalesce(jsonb_agg(c.change || jsonb_build_object('content', loci_internal.subject_in_words(
               p_namespace_id, c.change ->> 'kind', (c.change ->> 'subject_id')::uuid)) order by c.nth), '[]')
    from jsonb_array_elements(p_changes) with ordinality c(change, nth)
$$;
comment on function loci_internal.described_changes(integer, jsonb) is
    'Changes with what each thing is in words.';

-- What is the subject of a change, in words? Places and links are those of a lineage: its newest version.
create or replace function loci_internal.subject_in_words(p_namespace_id integer, p_kind text, p_id uuid) returns text
language sql stable
as $$
    select case p_kind
        when 'memory' then (select m.content from loci_data.memories m
                            where m.namespace_id = p_namespace_id and m.id = p_id)
        when 'entity' then (select e.name from loci_data.entities e
                            where e.namespace_id = p_namespace_id and e.id = p_id)
        when 'edge' then (select concat_ws(' ', s.name, e.type, coalesce(t.name, e.literal)) from loci_data.edges e
                          join loci_data.entities s on s.namespace_id = e.namespace_id and s.id = e.source_id
                          left join loci_data.entities t on t.namespace_id = e.namespace_id and t.id = e.target_id
                          where e.namespace_id = p_namespace_id and e.id = p_id)
        when 'attribute' then (select a.content from loci_data.attributes a
                               where a.namespace_id = p_namespace_id and a.id = p_id)
        when 'aspect' then (select a.name from loci_data.aspects a
                            where a.namespace_id = p_namespace_id and a.id = p_id)
        when 'placement' then loci_internal.lineage_in_words(p_namespace_id, p_id)
        when 'link' then loci_internal.lineage_in_words(p_namespace_id, p_id)
        end
$$;
comment on function loci_internal.subject_in_words(integer, text, uuid) is
    'Subject of a change, in words.';

-- The text of the newest version of a lineage. Index memories_chain.
create or replace function loci_internal.lineage_in_words(p_namespace_id integer, p_lineage_id uuid) returns text
language sql stable
as $$
    select m.content from loci_data.memories m
    where m.namespace_id = p_namespace_id and m.lineage_id = p_lineage_id
    order by m.valid_from desc, m.id desc limit 1
$$;
comment on function loci_internal.lineage_in_words(integer, uuid) is
    'Text of the newest version of a lineage.';
