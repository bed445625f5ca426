SELECT id, region, price FROM orders WHERE price > 5
SELECT region, count(*) AS n, sum(qty) AS q FROM orders GROUP BY region
SELECT region, sum(price) AS revenue, avg(price) AS mean FROM orders GROUP BY region
SELECT date_format(created_at, 'yyyy-MM') AS month, count(*) AS n FROM orders GROUP BY date_format(created_at, 'yyyy-MM')
SELECT id, datediff(current_date(), order_date) AS age FROM orders
SELECT id FROM orders WHERE order_date < current_date()
SELECT id FROM orders WHERE order_date >= date_sub(current_date(), 30)
SELECT id, year(order_date) AS y, quarter(order_date) AS q FROM orders
SELECT c.country, count(DISTINCT o.id) AS n FROM orders o JOIN customers c ON o.cust_id = c.id GROUP BY c.country
SELECT o.id, c.name, c.tier FROM orders o LEFT JOIN customers c ON o.cust_id = c.id
SELECT p.category, sum(o.qty) AS sold FROM products p JOIN orders o ON p.sku = o.sku GROUP BY p.category
SELECT name FROM customers WHERE email LIKE '%@%' AND tier = 'gold'
SELECT upper(country) AS c, lower(name) AS n FROM customers
SELECT id, regexp_replace(sku, '[^0-9]', '') AS digits FROM orders
SELECT id, regexp_extract(sku, '(\\d+)', 1) AS num FROM orders
SELECT id, regexp_replace(note, '\\s', '_') AS note FROM orders
SELECT id FROM orders WHERE sku RLIKE '\\d'
SELECT id, split(email, '@')[0] AS usr FROM customers
SELECT id, split(sku, '\\-') AS parts FROM orders
SELECT id, regexp_extract(email, '^(\\w+)@', 1) AS usr FROM customers
SELECT id, initcap(name) AS name FROM customers
SELECT id, coalesce(note, '') AS note, ifnull(region, 'none') AS region FROM orders
SELECT id, CASE WHEN price >= 100 THEN 'high' WHEN price >= 10 THEN 'mid' ELSE 'low' END AS band FROM orders
SELECT id, if(qty > 1, 'many', 'one') AS k FROM orders
SELECT id, explode(tags) AS tag FROM orders
SELECT explode(attrs) AS (k, v) FROM orders
SELECT id, posexplode(tags) AS (pos, tag) FROM orders
SELECT id, explode_outer(tags) AS tag FROM orders
SELECT id, tag FROM orders LATERAL VIEW explode(tags) AS tag
SELECT tag, count(*) AS n FROM orders LATERAL VIEW explode(tags) t AS tag GROUP BY tag
SELECT user_id, item.sku, item.qty FROM events LATERAL VIEW explode(items) t AS item
SELECT user_id, inline(items) FROM events
SELECT id, explode(split(note, ' ')) AS word FROM orders
SELECT user_id, sum(item.qty) AS q FROM events LATERAL VIEW OUTER explode(items) t AS item GROUP BY user_id
SELECT kind, count(DISTINCT user_id) AS users FROM events GROUP BY kind
SELECT user_id, max(score) AS best FROM events WHERE score > 0 GROUP BY user_id
SELECT id, from_unixtime(units) AS t FROM orders WHERE units BETWEEN 0 AND 2000000000
SELECT id, from_unixtime(units, 'yyyy-MM-dd') AS d FROM orders WHERE units < 2000000000
SELECT user_id, unix_timestamp(ts) AS s FROM events
SELECT user_id, date_trunc('MONTH', ts) AS m FROM events
SELECT user_id, to_date(ts) AS d, hour(ts) AS h, minute(ts) AS mi FROM events
SELECT id, sqrt(abs(price)) AS r FROM orders
SELECT id, sqrt(units) AS r FROM orders WHERE units > 0
SELECT id, sqrt(pow(qty, 2) + pow(id, 2)) AS dist FROM orders
SELECT id, round(price, 1) AS p, round(amount, 2) AS a FROM orders
SELECT id, floor(price) AS f, ceil(price) AS c FROM orders
SELECT id, abs(qty) AS q, sign(qty) AS s FROM orders
SELECT id, price / qty AS unit FROM orders WHERE qty > 0
SELECT id, price * qty AS total, qty * 2 AS dbl FROM orders
SELECT id, qty / nullif(id, 0) AS ratio FROM orders
SELECT region, sum(price) / count(*) AS avg_price FROM orders GROUP BY region
SELECT dept, max(salary) - min(salary) AS spread FROM staff GROUP BY dept
SELECT dept, count(*) AS n FROM staff WHERE rating > 3 GROUP BY dept HAVING count(*) >= 1
SELECT s.name, b.name AS boss FROM staff s JOIN staff b ON s.manager_id = b.id
SELECT name, dense_rank() OVER (PARTITION BY dept ORDER BY salary DESC) AS r FROM staff WHERE salary IS NOT NULL
SELECT id, row_number() OVER (PARTITION BY region ORDER BY order_date) AS rn FROM orders
SELECT id, row_number() OVER (PARTITION BY region ORDER BY order_date, id) AS rn FROM orders WHERE order_date IS NOT NULL AND id IS NOT NULL
SELECT id, sum(price) OVER (PARTITION BY cust_id) AS total FROM orders
SELECT id, price / sum(price) OVER (PARTITION BY region) AS share FROM orders WHERE price > 0
SELECT region, n, dense_rank() OVER (ORDER BY n DESC) AS r FROM (SELECT region, count(*) AS n FROM orders GROUP BY region) x
SELECT d, n, sum(n) OVER (ORDER BY d) AS running FROM (SELECT order_date AS d, count(*) AS n FROM orders WHERE order_date IS NOT NULL GROUP BY order_date) x
SELECT name, hired, lag(hired) OVER (ORDER BY hired) AS prev FROM staff WHERE hired IS NOT NULL
SELECT * FROM (SELECT id, cust_id, rank() OVER (PARTITION BY cust_id ORDER BY price DESC) AS r FROM orders) t WHERE r = 1
SELECT id, max(price) OVER (PARTITION BY region ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS mx FROM orders
SELECT region, collect_set(sku) AS skus FROM orders WHERE region = 'south' GROUP BY region
SELECT cust_id, sort_array(collect_list(sku)) AS skus FROM orders GROUP BY cust_id
SELECT region, concat_ws(',', sort_array(collect_set(status))) AS st FROM orders GROUP BY region
SELECT id, size(tags) AS n FROM orders WHERE tags IS NOT NULL
SELECT id FROM orders WHERE array_contains(tags, 'old')
SELECT id, tags[0] AS t FROM orders WHERE size(tags) > 0
SELECT id, attrs['color'] AS color FROM orders WHERE attrs['color'] IS NOT NULL
SELECT id, ship.city FROM orders WHERE ship.zip <> ''
SELECT id, map_keys(attrs) AS k FROM orders WHERE attrs IS NOT NULL
SELECT id, concat(region, '/', sku) AS path FROM orders
SELECT id, concat_ws('-', region, sku, status) AS k FROM orders
SELECT id, region || '-' || sku AS k FROM orders
SELECT id, CAST(qty AS STRING) AS q, CAST(price AS DOUBLE) AS p FROM orders
SELECT id, CAST(price AS INT) AS p FROM orders
SELECT id, CAST(created_at AS DATE) AS d FROM orders
SELECT id, CAST(amount AS DECIMAL(12,2)) AS a FROM orders WHERE id < 5
SELECT user_id, CAST(day AS DATE) AS d FROM events WHERE day LIKE '2024-__-__'
SELECT user_id FROM events WHERE day > '2024-01-15'
SELECT id FROM orders WHERE order_date BETWEEN DATE '2024-01-01' AND DATE '2024-06-30'
SELECT id FROM orders WHERE created_at >= TIMESTAMP '2024-01-01 00:00:00'
SELECT id, add_months(order_date, 3) AS d FROM orders
SELECT id, trunc(order_date, 'YEAR') AS y, last_day(order_date) AS l FROM orders
SELECT id, date_add(order_date, 7) AS d, date_sub(order_date, 7) AS e FROM orders
SELECT id, months_between(order_date, DATE '2024-01-01') AS m FROM orders
SELECT id, weekofyear(order_date) AS w, dayofweek(order_date) AS dw, dayofmonth(order_date) AS dm FROM orders
SELECT id, next_day(order_date, 'MON') AS mon FROM orders
SELECT id, order_date + INTERVAL 1 DAY AS nxt FROM orders
SELECT id, make_date(2024, 1, 1) AS d FROM orders
SELECT id, extract(YEAR FROM order_date) AS y, extract(MONTH FROM order_date) AS m FROM orders
SELECT 'order' AS kind, CAST(id AS BIGINT) AS id FROM orders UNION ALL SELECT 'event' AS kind, user_id AS id FROM events
SELECT sku FROM products EXCEPT SELECT sku FROM orders
SELECT sku FROM products INTERSECT SELECT sku FROM orders
SELECT DISTINCT status FROM orders WHERE status IS NOT NULL
SELECT name FROM customers WHERE id IN (SELECT cust_id FROM orders WHERE qty > 1)
SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.cust_id = c.id AND o.paid)
SELECT id FROM customers WHERE id NOT IN (SELECT cust_id FROM orders WHERE cust_id IS NOT NULL)
SELECT c.name FROM customers c LEFT SEMI JOIN orders o ON o.cust_id = c.id
SELECT c.name FROM customers c LEFT ANTI JOIN orders o ON o.cust_id = c.id
SELECT id, greatest(qty, 0) AS q FROM orders WHERE qty IS NOT NULL
SELECT id, greatest(coalesce(price, 0), 1) AS p FROM orders
SELECT id, least(qty, 10) AS q FROM orders
SELECT id, code FROM orders WHERE code = 'B'
SELECT id FROM orders WHERE code IN ('A1', 'e')
SELECT id FROM orders WHERE status <> 'closed'
SELECT id, length(sku) AS l, reverse(sku) AS r, trim(note) AS n FROM orders
SELECT id, substring(sku, 1, 3) AS s, instr(sku, '7') AS i FROM orders
SELECT id, right(sku, 2) AS r, left(sku, 1) AS l FROM orders
SELECT id, lpad(id, 5, '0') AS code FROM orders
SELECT id, get_json_object(note, '$.a') AS a FROM orders
SELECT id, md5(sku) AS h, sha1(sku) AS s FROM orders
SELECT id, translate(region, 'nsew', 'NSEW') AS r FROM orders
SELECT id, replace(sku, '-', '') AS s FROM orders
SELECT dept, stddev(salary) AS s FROM staff GROUP BY dept
SELECT dept, stddev_pop(rating) AS s, var_samp(rating) AS v FROM staff GROUP BY dept
SELECT dept, percentile_approx(salary, 0.5) AS med FROM staff GROUP BY dept
SELECT region, sum(CASE WHEN paid THEN price ELSE 0 END) AS paid FROM orders GROUP BY region
SELECT region, count(*) FILTER (WHERE paid) AS paid FROM orders GROUP BY region
SELECT region, count_if(paid) AS paid FROM orders GROUP BY region
SELECT region, round(100.0 * sum(qty) / count(*), 2) AS pct FROM orders GROUP BY region
SELECT region, status, count(*) AS n FROM orders GROUP BY ROLLUP (region, status)
SELECT region, paid, sum(price) AS s FROM orders GROUP BY CUBE (region, paid)
SELECT region, grouping(region) AS g, count(*) AS n FROM orders GROUP BY region WITH ROLLUP
SELECT t.region FROM (SELECT region, count(*) AS n FROM orders GROUP BY region) t WHERE t.n > 1
WITH paid AS (SELECT * FROM orders WHERE paid) SELECT cust_id, sum(price) AS s FROM paid GROUP BY cust_id
WITH m AS (SELECT dept, max(salary) AS top FROM staff GROUP BY dept) SELECT s.name FROM staff s JOIN m ON s.dept = m.dept AND s.salary = m.top
SELECT id, price FROM orders WHERE price IS NOT NULL AND id IS NOT NULL ORDER BY price DESC, id LIMIT 3
SELECT id FROM orders ORDER BY id LIMIT 4
SELECT name, tier FROM customers ORDER BY name
SELECT id, current_timestamp() > created_at AS past FROM orders
SELECT id, date_format(order_date, 'dd.MM.yyyy') AS d FROM orders
SELECT id, nullif(region, '') AS region, nvl(qty, 0) AS qty FROM orders
SELECT id, qty % 3 AS m, pmod(id, 4) AS p FROM orders
SELECT sum(units) AS u, count(units) AS n FROM orders WHERE units < 1000000
SELECT avg(qty) AS a, avg(units) AS b FROM orders WHERE units < 1000000
SELECT id, discount * 2 AS d FROM orders
SELECT id, amount * 1.19 AS gross FROM orders
SELECT o.id, p.title FROM orders o JOIN products p USING (sku)
SELECT o.id, c.id AS cid FROM orders o FULL OUTER JOIN customers c ON o.cust_id = c.id
SELECT id, paid IS TRUE AS t, qty IS NULL AS n FROM orders
SELECT id, NOT paid AS unpaid FROM orders WHERE paid IS NOT NULL
SELECT user_id, props['depth'] + 1 AS d FROM events
SELECT id, named_struct('sku', sku, 'qty', qty) AS line FROM orders
SELECT id, ln(price) AS l FROM orders WHERE price > 0
SELECT name, salary * 1.1 AS raised, CAST(salary / 12 AS DECIMAL(10,2)) AS monthly FROM staff
SELECT id, substring_index(email, '@', -1) AS dom FROM customers
