-- Is this an entry that working memory takes? Value: JSON of at most 1 MiB of text. TTL: more than 0 seconds, at most 366 days. Category: a
-- path. Tags: at most 100, 1 to 255 characters each. Pure but for what it raises. Called by save_working_memory; internal.
-- Errors: 22023 naming the field and the value.
create or replace function loci.check_entry(p_value jsonb, p_ttl_seconds double precision, p_category text, p_tags text[]) returns void
language plpgsql immutable
as $$
declare
    v_wrong text[] := case
        when p_value is null then array['value', 'value must be JSON; null is written as the JSON null']
        when pg_column_size(p_value) > 100000 and octet_length(p_value::text) > 1048576
            then array['value', format('value must be at most 1 MiB (1,048,576 bytes) of JSON text; it has %s', octet_length(p_value::text))]
        when not (p_ttl_seconds > 0 and p_ttl_seconds <= 31622400)
            then array['ttl_seconds', format('ttl_seconds must be more than 0 and at most 31622400 (366 days), not %s', p_ttl_seconds)]
        when length(p_category) not between 1 and 255 or p_category !~ '^[^/]+(/[^/]+)*$'
            then array['category', format('category must be a path such as work/projects, without empty segments, at most 255 characters, not %L', left(p_category, 100))]
        when cardinality(p_tags) > 100 then array['tags', format('tags must be at most 100, not %s', cardinality(p_tags))]
        when exists (select from unnest(p_tags) t(tag) where t.tag is null or length(t.tag) not between 1 and 255)
            then array['tags', 'each of tags must have 1 to 255 characters'] end;
begin
    if v_wrong is not null then
        raise invalid_parameter_value using message = v_wrong[2], column = v_wrong[1];
    end if;
end $$;
comment on function loci.check_entry(jsonb, double precision, text, text[]) is 'Raise 22023 for an entry that working memory does not take. Internal.';
